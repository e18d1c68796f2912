package cuda

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// NVIDIA's assembler takes the kernels for every generation that it knows, from Volta on. It needs no GPU: $SPDL_PTXAS, or ptxas in the
// PATH; `pip install nvidia-cuda-nvcc` has one.
func TestKernelsAssemble(t *testing.T) {
	ptxas := os.Getenv("SPDL_PTXAS")
	if ptxas == "" {
		ptxas = "ptxas"
	}
	if _, err := exec.LookPath(ptxas); err != nil {
		t.Skipf("no assembler: %v; name one in SPDL_PTXAS", err)
	}
	source := filepath.Join(t.TempDir(), "finish.ptx")
	if err := os.WriteFile(source, []byte(finishImage), 0o600); err != nil {
		t.Fatal(err)
	}
	known := 0
	for _, device := range []string{"sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"} {
		out, err := exec.Command(ptxas, "-v", "-arch="+device, "-o", os.DevNull, source).CombinedOutput()
		if strings.Contains(string(out), "is not defined for option 'gpu-name'") {
			continue // a generation that this assembler does not know yet, or no longer
		}
		if kernels := strings.Count(string(out), "Compiling entry function"); err != nil || kernels != 3 {
			t.Errorf("%s: %v, %d of 3 kernels:\n%s", device, err, kernels, out)
		}
		known++
	}
	if known == 0 {
		t.Errorf("%s knows none of the devices", ptxas)
	}
}
