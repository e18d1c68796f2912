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
	for name, image := range map[string]string{"finish": finishImage, "resize": resizeImage} {
		t.Run(name, func(t *testing.T) { assembles(t, ptxas, image) })
	}
}

func assembles(t *testing.T, ptxas, image string) {
	source := filepath.Join(t.TempDir(), "kernels.ptx")
	if err := os.WriteFile(source, []byte(image), 0o600); err != nil {
		t.Fatal(err)
	}
	known, want := 0, strings.Count(image, ".visible .entry")
	for _, device := range []string{"sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"} {
		out, err := exec.Command(ptxas, "-v", "-arch="+device, "-o", os.DevNull, source).CombinedOutput()
		if strings.Contains(string(out), "is not defined for option 'gpu-name'") {
			continue // a generation that this assembler does not know yet, or no longer
		}
		if kernels := strings.Count(string(out), "Compiling entry function"); err != nil || kernels != want {
			t.Errorf("%s: %v, %d of %d kernels:\n%s", device, err, kernels, want, out)
		}
		known++
	}
	if known == 0 {
		t.Errorf("%s knows none of the devices", ptxas)
	}
}

// resize.ptx is what `make kernels` makes of resize.cu, which tests/cuda runs, too.
func TestKernelsAreTheirSource(t *testing.T) {
	const compiler = "clang-14" // another one's registers have other names
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skipf("no %s: %v", compiler, err)
	}
	out := filepath.Join(t.TempDir(), "resize.ptx")
	if text, err := exec.Command("make", "-s", "-C", "../../..", "kernels", "KERNELS="+out).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	made, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if string(made) != resizeImage {
		t.Error("resize.ptx is not of this resize.cu: make kernels")
	}
}
