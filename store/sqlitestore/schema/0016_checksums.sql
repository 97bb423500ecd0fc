-- New rows of logs, heads, snapshots, sidecars and journals have checksums, which earlier versions
-- cannot read. The step changes nothing: with it, they refuse the file.
UPDATE sequence SET probes = probes;
