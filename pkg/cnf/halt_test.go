package cnf_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// begun is the journal of an operation that has begun a step.
type begun struct{ lcm.Journal }

// Begun implements lcm.Journal.
func (begun) Begun(context.Context, lcm.Claim) (bool, error) { return true, nil }

// packages has one package.
type packages struct {
	lcm.Packages
	files fs.FS
}

// broken is a package whose files cannot be read.
type broken struct{ err error }

// Open implements fs.FS.
func (b broken) Open(string) (fs.File, error) { return nil, b.err }

// ModelOf implements lcm.Packages.
func (packages) ModelOf(context.Context, string) (*vnfd.VNFD, error) { return model(), nil }

// Files implements lcm.Packages.
func (p packages) Files(context.Context, string) (fs.FS, error) { return p.files, nil }

// TestHaltNeedsThePackage: a cancellation is not done while the package cannot be read, because pods may be created
// then. A manifest that is no YAML was never applied.
func TestHaltNeedsThePackage(t *testing.T) {
	t.Parallel()
	unreadable := errors.New("the object store is down")
	invalid := files()
	invalid["Files/kubernetes/deployment.yaml"] = &fstest.MapFile{Data: []byte("a: [\n")}
	for name, c := range map[string]struct {
		files fs.FS
		want  error
	}{
		"unreadable": {broken{unreadable}, unreadable},
		"invalid":    {invalid, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, err := lcm.NewExecution(t.Context(), lcm.ExecutionInput{
				Op: &lcm.Operation{
					ID: "op", Type: sol.LcmOperationInstantiate, State: sol.LcmOperationStateProcessing, Try: 1,
					Params: []byte(`{"flavourId":"simple","additionalParams":{
						"lcm-kubernetes-def-files":["Files/kubernetes/deployment.yaml"]}}`),
					Scope: &lcm.Scope{}, Deadline: time.Now().Add(time.Hour),
				},
				Instance: &lcm.Instance{
					ID: "4d5ffa3b-9dde-45a9-a805-659dc8df0c02", VnfPkgID: "pkg", VimConnections: connection(),
					Instantiated: &sol.InstantiatedVnfInfo{FlavourID: "simple"},
				},
				Packages: packages{files: c.files},
				Journal:  begun{}, Clock: lcm.SystemClock{}, Log: slog.New(slog.DiscardHandler),
			})
			require.NoError(t, err)
			require.ErrorIs(t, newDriver(t).Halt(t.Context(), w, sol.CancelModeForceful), c.want)
		})
	}
}
