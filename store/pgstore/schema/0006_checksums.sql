-- New rows of logs, heads, snapshots, sidecars and journals have checksums, which earlier versions
-- cannot read.
UPDATE sequence SET least = 6;
