package sqlitestore

const childEnv = "PARLEY_SQLITE_CHILD"

func runChild(path string) int { return 0 }
