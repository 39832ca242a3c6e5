package clients_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/stack"
)

// createdPackage are the rows of a package without content.
var createdPackage = []string{
	"Field", "ID", "Links", "Onboarding State", "Operational State", "Usage State", "User Defined Data",
}

// onboardedPackage are the rows of a package with content that the guides of Tacker show.
var onboardedPackage = []string{
	"Additional Artifacts", "Checksum", "ID", "Links", "Onboarding State", "Operational State", "Software Images",
	"Usage State", "User Defined Data", "VNF Product Name", "VNF Provider", "VNF Software Version", "VNFD ID",
	"VNFD Version",
}

// onboarded waits for a package.
func (w *world) onboarded(id string) {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		p, err := w.api.Package(w.t.Context(), id)
		return err == nil && p.OnboardingState == sol.PackageOnboardingStateOnboarded
	}, time.Minute, 20*time.Millisecond)
}

const script = "#!/bin/sh\nexit 0\n"

func scriptHash() string { return fmt.Sprintf("%x", sha256.Sum256([]byte(script))) }

// plainWithScript builds the package test/packages/plain with an artifact.
func (w *world) plainWithScript() {
	w.t.Helper()
	source := filepath.Join(w.dir, "source")
	require.NoError(w.t, os.CopyFS(source, os.DirFS("../packages/plain")))
	require.NoError(w.t, os.Mkdir(filepath.Join(source, "Scripts"), 0o700))
	w.write("source/Scripts/run.sh", script)
	meta, err := os.ReadFile(filepath.Join(source, "TOSCA-Metadata/TOSCA.meta"))
	require.NoError(w.t, err)
	w.write("source/TOSCA-Metadata/TOSCA.meta", string(meta)+
		"\nName: Scripts/run.sh\nContent-Type: application/x-shellscript\nAlgorithm: SHA-256\nHash: "+scriptHash()+"\n")
	require.NoError(w.t, stack.BuildPackage(w.t.Context(), source, filepath.Join(w.dir, "plain.zip")))
}

// TestPackages is the session with packages of the guides, and the other commands for packages.
func TestPackages(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.plainWithScript()

	table := w.run("vnf package create")
	require.Equal(t, createdPackage, columns(table))
	require.Regexp(t, `\| User Defined Data +\| \{\} +\|`, table)
	first := w.list("vnf package list")
	require.Len(t, first, 1)
	id := text(t, first[0], "Id")
	self := "/vnfpkgm/v1/vnf_packages/" + id
	require.Equal(t, obj{
		"Id": id, "Vnf Product Name": "", "Onboarding State": "CREATED", "Usage State": "NOT_IN_USE",
		"Operational State": "DISABLED",
		"Links":             obj{"self": obj{"href": self}, "packageContent": obj{"href": self + "/package_content"}},
	}, first[0])

	w.refused("vnf package download --file nothing.zip "+id, id, "CREATED")
	require.Equal(t, "Upload request for VNF package "+id+" has been accepted.",
		w.run("vnf package upload "+id+" --path plain.zip"))
	w.onboarded(id)
	p := w.show("vnf package show " + id)
	for _, name := range onboardedPackage {
		require.Contains(t, p, name)
	}
	require.Equal(t, "ONBOARDED", p["Onboarding State"])
	require.Equal(t, "ENABLED", p["Operational State"])
	require.Equal(t, "NOT_IN_USE", p["Usage State"])
	require.Equal(t, obj{}, p["User Defined Data"])
	require.Equal(t, "Plain VMs", p["VNF Product Name"])
	require.Equal(t, "Gybe", p["VNF Provider"])
	require.Equal(t, "1.0", p["VNF Software Version"])
	require.Equal(t, "1.0", p["VNFD Version"])
	require.Equal(t, []any{obj{
		"artifactPath": "Scripts/run.sh", "isEncrypted": false, "metadata": obj{},
		"checksum": obj{"algorithm": "SHA-256", "hash": scriptHash()},
	}}, p["Additional Artifacts"])
	images, ok := p["Software Images"].([]any)
	require.True(t, ok)
	require.Len(t, images, 1)
	image, _ := images[0].(obj)
	require.Regexp(t, `^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\+00:00$`, image["createdAt"])
	delete(image, "createdAt")
	require.Equal(t, obj{
		"id": "VDU1", "name": "cirros-0.5.2-x86_64-disk", "provider": "", "version": "0.5.2",
		"containerFormat": "bare", "diskFormat": "qcow2", "isEncrypted": false, "imagePath": "",
		"minDisk": 0.0, "minRam": 256e6, "size": 12e9, "userMetadata": obj{},
		"checksum": obj{
			"algorithm": "sha-256", "hash": "932fcae93574e242dc3d772d5235061747dfe537668443a1f0567d893614b464",
		},
	}, image)

	w.refused("vnf package upload "+id+" --path plain.zip", id, "it is ONBOARDED", "a package that is CREATED")
	w.refused("vnf package show nonsense", `there is no VNF package "nonsense"`)
	w.refused("vnf package delete "+id, id, "it is ENABLED", "disable it first")
	w.refused("vnf package create --user-data nonsense", "key=value")
	w.refused("vnf package list --filter nonsense", "filter")

	w.run("vnf package download --file copy.zip " + id)
	want, err := os.ReadFile(filepath.Join(w.dir, "plain.zip"))
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(w.dir, "copy.zip"))
	require.NoError(t, err)
	require.Equal(t, want, got)
	w.refused("vnf package artifact download "+id+" Scripts/nothing.sh --file x", "Scripts/nothing.sh")
	w.run("vnf package artifact download " + id + " Scripts/run.sh --file copy.sh")
	got, err = os.ReadFile(filepath.Join(w.dir, "copy.sh"))
	require.NoError(t, err)
	require.Equal(t, script, string(got))
	require.Contains(t, w.run("vnf package update --operational-state DISABLED --user-data a=b "+id), "DISABLED")
	w.refused("vnf package update --operational-state DISABLED "+id, "DISABLED")
	require.Equal(t, "All specified vnf-package(s) deleted successfully", w.run("vnf package delete "+id))
}
