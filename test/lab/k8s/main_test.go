package k8s_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gybe-nfv/gybe/test/oracle"
)

const (
	// envLab names the state directory of a lab that lab.sh has started.
	envLab = "GYBE_LAB_K8S"
	// envAnsible is the address of the Ansible host of a lab that ../kubespray/lab.sh has started.
	envAnsible = "GYBE_LAB_ANSIBLE"
)

// lab is where the running lab keeps its things, "" without one. kubeboxes are the programs with kubectl and kubeadm in
// them, the newest first. hosts is the tool that makes the hosts, with its settings. sample is the folder of a package
// from outside, or "". ansibleHost is the address of the Ansible host, or "".
var (
	lab         string
	sample      string
	ansibleHost string
	kubeboxes   []string
	hosts       string
	settings    []string
)

func TestMain(m *testing.M) {
	lab, kubeboxes, hosts = os.Getenv(envLab), strings.Fields(
		os.Getenv("GYBE_LAB_KUBEBOX"),
	), os.Getenv("GYBE_HOSTS_TOOL")
	sample, ansibleHost = os.Getenv(envSample), os.Getenv(envAnsible)
	oracle.Folder() // is found with one of the variables, and then known
	// Gybe would wonder about variables with its prefix that are no settings of its own.
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "GYBE_") {
			settings = append(settings, v)
			_ = os.Unsetenv(name)
		}
	}
	code := m.Run()
	fmt.Fprint(os.Stderr, spent.String())
	os.Exit(code)
}
