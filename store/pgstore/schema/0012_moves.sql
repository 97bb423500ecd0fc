-- Owners that move from one shard to another.

-- In the home: the moves. epoch is that of the hub that carries it out; 0 if none has begun. state is 0 then, 1 while the
-- tasks are copied, 2 while the operations of the owner wait, 3 once the owner is in the target, until the source has
-- none of its tasks, and 4 after a failure, with the reason. A target of -1 leaves the choice to the hub.
CREATE TABLE shard_moves (
	owner  BYTEA    PRIMARY KEY,
	source SMALLINT NOT NULL,
	target SMALLINT NOT NULL,
	state  SMALLINT NOT NULL,
	turn   BIGINT   NOT NULL, -- a random number of each attempt to switch
	epoch  BIGINT   NOT NULL,
	reason BYTEA    NOT NULL DEFAULT ''
);

-- In the home: the hubs that let the operations of an owner wait.
CREATE TABLE shard_holds (
	owner BYTEA  NOT NULL,
	turn  BIGINT NOT NULL,
	epoch BIGINT NOT NULL,
	PRIMARY KEY (owner, turn, epoch)
);

-- drained is 1 while a shard gets no new owners, and departed once an owner has left it.
ALTER TABLE shards ADD COLUMN drained SMALLINT NOT NULL DEFAULT 0, ADD COLUMN departed SMALLINT NOT NULL DEFAULT 0;

-- In the source and in the target: the owners whose tasks are copied, and not swept.
CREATE TABLE shard_moving (
	owner BIGINT PRIMARY KEY
);

-- In the source: tasks that have changed since they were copied. The triggers that note them are enabled during moves only.
CREATE TABLE shard_changes (
	id    BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	owner BIGINT NOT NULL,
	task  BIGINT NOT NULL
);
CREATE INDEX shard_changes_owner ON shard_changes (owner);

CREATE FUNCTION shard_task_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	r RECORD;
BEGIN
	IF TG_OP = 'DELETE' THEN r := OLD; ELSE r := NEW; END IF;
	INSERT INTO shard_changes (owner, task) SELECT owner, r.key FROM shard_moving WHERE owner = r.owner;
	RETURN NULL;
END $$;

CREATE FUNCTION shard_beside_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	r RECORD;
BEGIN
	IF TG_OP = 'DELETE' THEN r := OLD; ELSE r := NEW; END IF;
	INSERT INTO shard_changes (owner, task)
	SELECT t.owner, t.key FROM tasks t JOIN shard_moving m ON m.owner = t.owner WHERE t.key = r.task;
	RETURN NULL;
END $$;

CREATE FUNCTION shard_sidecar_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO shard_changes (owner, task)
	SELECT t.owner, t.key FROM tasks t JOIN shard_moving m ON m.owner = t.owner WHERE t.key = OLD.place % 549755813888;
	RETURN NULL;
END $$;

CREATE TRIGGER shard_moving AFTER INSERT OR UPDATE OR DELETE ON tasks FOR EACH ROW EXECUTE FUNCTION shard_task_changed();
CREATE TRIGGER shard_moving AFTER INSERT OR UPDATE OR DELETE ON hooks FOR EACH ROW EXECUTE FUNCTION shard_beside_changed();
CREATE TRIGGER shard_moving AFTER INSERT OR UPDATE ON task_words FOR EACH ROW EXECUTE FUNCTION shard_beside_changed();
CREATE TRIGGER shard_moving AFTER DELETE ON sidecars FOR EACH ROW EXECUTE FUNCTION shard_sidecar_changed();
ALTER TABLE tasks DISABLE TRIGGER shard_moving;
ALTER TABLE hooks DISABLE TRIGGER shard_moving;
ALTER TABLE task_words DISABLE TRIGGER shard_moving;
ALTER TABLE sidecars DISABLE TRIGGER shard_moving;

-- Earlier versions let no owner wait, and take the keys of tasks in a shard from its own sequence.
UPDATE sequence SET least = 12 WHERE EXISTS (SELECT FROM shard);
