package helm_test

import (
	"os"
	"testing"

	"github.com/gybe-nfv/gybe/pkg/helm/render"
)

// TestMain lets the test be the process that executes templates, too.
func TestMain(m *testing.M) {
	render.Serve()
	os.Exit(m.Run())
}
