package rawjson_test

import (
	"testing"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

func TestReservedNamesInEverySpelling(t *testing.T) {
	t.Parallel()
	r := rawjson.Reserved{"taskId", "status"}
	for name, want := range map[string]bool{
		"taskId": true, "TASKID": true, "task_id": true, "task-id": true, "Task_ID": true, "\u017ftatus": true,
		"taskIds": false, "": false, "x": false, "_": false,
	} {
		if got := r.Has(name); got != want {
			t.Errorf("Has(%q) = %v, want %v", name, got, want)
		}
	}
}
