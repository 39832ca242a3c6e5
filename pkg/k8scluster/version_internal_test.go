package k8scluster

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// A wrong answer would take a cluster to a version from which it does not come back.
func TestVersionsThatCanBeReached(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to  string
		reachable bool
	}{
		{"1.34", "1.34", true},
		{"1.34", "1.35", true},
		{"v1.34.3", "1.35.0", true},
		{"1.34", "1.34.2", true}, // which patch 1.34 was, only the nodes know
		{"1.34.3", "1.34", true},
		{"1.34.2", "1.34.3", true},
		{"1.34.3", "1.34.2", false},
		{"1.34", "1.33", false},
		{"1.34.1", "1.33.9", false},
		{"1.34", "1.36", false},
		{"1.9", "1.10", true},
	} {
		from, ok := parseVersion(c.from)
		require.True(t, ok, c.from)
		to, ok := parseVersion(c.to)
		require.True(t, ok, c.to)
		require.Equal(t, c.reachable, notReachable(from, to) == "", "%s to %s: %s", from, to, notReachable(from, to))
	}
	for _, none := range []string{"", "2.0", "1", "1.x", "1.34.2.1"} {
		_, ok := parseVersion(none)
		require.False(t, ok, none)
	}
}

// A minor asks for any of its patches; a node that has one is left alone.
func TestVersionTakesItsPatches(t *testing.T) {
	t.Parallel()
	is := func(text string) version {
		v, ok := parseVersion(text)
		require.True(t, ok, text)
		return v
	}
	require.True(t, is("1.34").takes(is("v1.34.7")))
	require.True(t, is("1.34.7").takes(is("v1.34.7-rc.1+build")))
	require.False(t, is("1.34.7").takes(is("v1.34.8")))
	require.False(t, is("1.34").takes(is("v1.35.0")))
	require.Equal(t, "1.34 1.34.7", is("v1.34").String()+" "+is("v1.34.7").String())
}

// A different image recreates all machines.
func TestImagesThatAreTheSameForTheVIM(t *testing.T) {
	t.Parallel()
	of := func(change func(*vnfd.SwImage)) *vnfd.SwImage {
		i := &vnfd.SwImage{Name: "ubuntu", File: "Files/a.img", ChecksumHash: "ab", DiskFormat: "qcow2", Version: "1"}
		if change != nil {
			change(i)
		}
		return i
	}
	require.True(t, sameImage(nil, nil))
	require.False(t, sameImage(nil, of(nil)))
	require.True(t, sameImage(of(nil), of(func(i *vnfd.SwImage) { i.File, i.Version = "Files/b.img", "2" })))
	require.False(t, sameImage(of(nil), of(func(i *vnfd.SwImage) { i.ChecksumHash = "cd" })))
	require.False(t, sameImage(of(nil), of(func(i *vnfd.SwImage) { i.Name = "debian" })))
	unknown := of(func(i *vnfd.SwImage) { i.ChecksumHash = "" })
	require.False(t, sameImage(unknown, unknown), "without a checksum every package's is another")
	inVIM := of(func(i *vnfd.SwImage) { i.File, i.ChecksumHash = "", "" })
	require.True(t, sameImage(inVIM, inVIM))
}

// A node that does not report its version stops an upgrade with a reason, not with an empty one.
func TestEveryVersionSkewHasAReason(t *testing.T) {
	t.Parallel()
	for is, why := range map[string]string{
		"":        "it is not known whether 1.35 can be reached from there",
		"unknown": "it is not known whether 1.35 can be reached from there",
		"v1.33.2": "1.35 is 2 minor versions newer, and kubeadm goes one at a time",
		"v1.36.1": "1.35 is older, and Kubernetes cannot be downgraded",
		"v1.34.9": "",
		"v1.35.0": "",
	} {
		require.Equal(t, why, versionSkew(is, version{35, -1}), is)
	}
}
