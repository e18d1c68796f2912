package verbs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Clean removes the ring and the socket of a killed engine, and only shows them with --dry-run.
func TestCleanRemovesWhatAKilledEngineLeft(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	s := serve(t, name, describe(t, dir, name, "rings: {a: {}, b: {ring: {groups: [{name: g}]}}}\n"))
	s.kill()
	socket := filepath.Join(os.Getenv("SPDL_RUNTIME_DIR"), name+".sock")
	left := func() int {
		names, _ := filepath.Glob("/dev/shm/spdl." + name + ".*")
		sockets, _ := filepath.Glob(socket)
		return len(names) + len(sockets)
	}
	if left() != 6 { // two headers, two data segments, one group, one socket
		t.Fatalf("the killed engine left %d names, want 6", left())
	}
	for _, args := range [][]string{{"clean", "--dry-run"}, {"clean", "-n", name}} {
		wants(t, good(t, args...), "stale ring "+name+"/a of engine ", "stale ring "+name+"/b of engine ", "stale socket "+socket, "stale in all: ")
	}
	if left() != 6 {
		t.Fatalf("after --dry-run %d names are left, want 6", left())
	}
	wants(t, good(t, "clean", name), "removed ring "+name+"/a of engine ", "removed ring "+name+"/b of engine ", "removed socket "+socket, "removed in all: ")
	if left() != 0 {
		t.Fatalf("%d names are left, want none", left())
	}
	refused(t, exitNotFound, `clean: "`+name+`": nothing was left behind under this name`, "clean", name)
}

func TestCleanLeavesALivingEngineAlone(t *testing.T) {
	for backing, want := range map[string]string{"posix": `clean: ring "%s" is in use by engine`, "memfd": `clean: "%s": a running engine answers at `} {
		name, dir := home(t), pictures(t, 4)
		s := serve(t, name, dir, "--size", "16", "--backing", backing)
		refused(t, exitBusy, fmt.Sprintf(want, name), "clean", name)
		if out := good(t, "clean", "--dry-run"); strings.Contains(out, name) {
			t.Errorf("a living engine is listed:\n%s", out)
		}
		if code := s.stop(); code != exitOK {
			t.Errorf("exit code %d", code)
		}
	}
}
