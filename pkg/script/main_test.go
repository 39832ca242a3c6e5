package script_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(nodeDir) != "" {
		os.Exit(node())
	}
	goleak.VerifyTestMain(m)
}
