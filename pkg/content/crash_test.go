package content

import (
	"bufio"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// playSmallDisk is set on Linux.
var playSmallDisk func(dir string)

// TestMain lets the test binary play the process that is killed in the middle of its work.
func TestMain(m *testing.M) {
	if dir := os.Getenv("GYBE_CONTENT_CRASH_DIR"); dir != "" {
		crash(dir, os.Getenv("GYBE_CONTENT_CRASH_AT"))
	}
	if dir := os.Getenv("GYBE_CONTENT_SMALL_DISK"); dir != "" {
		playSmallDisk(dir)
	}
	os.Exit(m.Run())
}

// crash works up to the named point, says so, and hangs there until it is killed. It waits for a timer: the runtime
// ends a process whose goroutines all wait for nothing.
func crash(dir, at string) {
	hang := func() { _, _ = os.Stdout.WriteString("there\n"); <-time.After(time.Hour) }
	s, err := Open(dir)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	staged, err := s.Stage(ctx, &hangingReader{Reader: *strings.NewReader("abc"), hang: hang, at: at == "upload"}, 0)
	if err != nil {
		panic(err)
	}
	if at == "staged" {
		hang()
	}
	if err := staged.Publish(); err != nil {
		panic(err)
	}
	if at == "published" {
		hang()
	}
	_, err = s.Extract(ctx, staged.Digest, func(ctx context.Context, dst *os.Root) error {
		err := writeOne(ctx, dst)
		hang()
		return err
	})
	panic(err)
}

type hangingReader struct {
	strings.Reader
	hang func()
	at   bool
}

func (r *hangingReader) Read(p []byte) (int, error) {
	if r.at && r.Len() < 3 {
		r.hang()
	}
	return r.Reader.Read(p[:1])
}

func TestKilledProcessLosesNothingAndLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"upload", "staged", "published", "extract"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := open(t, dir)
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), "GYBE_CONTENT_CRASH_DIR="+dir, "GYBE_CONTENT_CRASH_AT="+at)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			line, err := bufio.NewReader(out).ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "there\n", line)

			n, err := s.sweep(t.Context(), 0)
			require.NoError(t, err)
			require.Zero(t, n, "its maker is alive")
			require.NoError(t, cmd.Process.Kill())
			require.Error(t, cmd.Wait())

			n, err = s.sweep(t.Context(), 0)
			require.NoError(t, err)
			if at == "published" {
				require.Zero(t, n)
			} else {
				require.Equal(t, 1, n)
			}
			require.Empty(t, tmpEntries(t, s))

			found := digests(t, s, time.Now().Add(time.Hour))
			if at == "upload" || at == "staged" {
				require.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			_, err = s.Tree(found[0])
			require.ErrorIs(t, err, fs.ErrNotExist)
			require.NoError(t, extract(t, s, found[0]).Close(), "the next process extracts it again")
		})
	}
}
