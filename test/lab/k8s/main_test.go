package k8s_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// envLab names the state directory of a lab that lab.sh has started.
const envLab = "GYBE_LAB_K8S"

// lab is where the running lab keeps its things, "" without one; kubebox is the program with kubectl in it.
var lab, kubebox string

func TestMain(m *testing.M) {
	lab, kubebox = os.Getenv(envLab), os.Getenv("GYBE_LAB_KUBEBOX")
	// Gybe would wonder about variables with its prefix that are no settings of its own.
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "GYBE_") {
			_ = os.Unsetenv(name)
		}
	}
	code := m.Run()
	fmt.Fprint(os.Stderr, spent.String())
	os.Exit(code)
}
