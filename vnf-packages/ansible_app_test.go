package vnfpackages_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/ansible"
)

var ansibleApp = sample{dir: "ansible-app", prefix: "ansible_app_"}

func TestAnsibleAppMetaListsEveryFile(t *testing.T) { ansibleApp.metaListsEveryFile(t) }

// The driver has nothing to say against the configuration, and knows every hook of the VNFD.
func TestAnsibleAppIsAGoodPackage(t *testing.T) {
	t.Parallel()
	v := ansibleApp.good(t)
	require.Equal(t, "5d1c9be4-70a3-4f38-9e0e-3c1f0a6b7d55", v.ID)
	f := v.Flavour("default")
	require.NotNil(t, f)
	require.Equal(t, 2, f.Aspect("VDU1_scale").MaxScaleLevel)
	counts, ok := f.Counts("")
	require.True(t, ok)
	require.Equal(t, map[string]int{"VDU1": 1, "VDU2": 1}, counts)
	d := ansible.New(ansible.Options{})
	require.Empty(t, d.CheckPackage(os.DirFS(ansibleApp.dir), v))
	runs := map[string]bool{}
	for _, h := range d.Hooks() {
		runs[string(h.Hook)] = h.Run != nil
	}
	require.Len(t, f.LCM, 5)
	for hook, impl := range f.LCM {
		require.Equal(t, ansible.Name, impl.Name)
		require.True(t, runs[hook], hook)
	}
}
