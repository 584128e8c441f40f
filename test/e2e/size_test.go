package e2e

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"testing"
)

// The linker leaves out methods that nobody calls. But if one package looked up methods
// by names that the linker does not know, the linker would keep all methods. Unused
// methods would then be a third of the daemon.
func TestMethodsThatNobodyCallsAreNotLinked(t *testing.T) {
	program, err := elf.Open(filepath.Join(os.Getenv("FAIRLEAD_BIN"), "cloud-controller-manager"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = program.Close() }()
	functions, err := program.Section(".gopclntab").Data()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"k8s.io/apiserver/pkg/server.(*GenericAPIServer).InstallAPIGroups": false, // nobody runs an API server here
		"text/template.(*Template).Execute":                                false, // it looks up methods by any name
		"main.main":                                                        true,
	} {
		if got := bytes.Contains(functions, []byte(name+"\x00")); got != want {
			t.Errorf("%s is linked: %v, want %v", name, got, want)
		}
	}
}
