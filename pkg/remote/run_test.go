package remote_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/remote"
)

func TestRunStreamsCleanLines(t *testing.T) {
	t.Parallel()
	c := dial(t, newServer(t))
	tests := []struct {
		name, command string
		stdout        []string
	}{
		{"lines", `printf 'a\nb\n\nc'`, []string{"a", "b", "", "c"}},
		{"windows line ends", `printf 'a\r\nb\r\n'`, []string{"a", "b"}},
		{"progress bar", `printf '10%%\r50%%\r100%%\nend\n'`, []string{"100%", "end"}},
		{"not UTF-8", `printf 'caf\351\n'`, []string{"caf\uFFFD"}},
		{"control characters", `printf 'a\033[31mb\000c\td\n'`, []string{"a[31mbc\td"}},
		{"endless line", `head -c 9999 /dev/zero | tr '\0' x; echo; echo next`, []string{
			strings.Repeat("x", remote.MaxLine) + "…", "next",
		}},
		{"standard input", `cat`, []string{"from here"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			err := c.Run(t.Context(), tt.command, remote.RunOptions{
				Stdin: strings.NewReader("from here\n"), Stdout: func(line string) { got = append(got, line) },
			})
			require.NoError(t, err)
			require.Equal(t, tt.stdout, got)
		})
	}
}

// A command that does not read its input succeeds all the same.
func TestRunOfACommandThatIgnoresItsInput(t *testing.T) {
	t.Parallel()
	c := dial(t, newServer(t))
	endless, err := os.Open("/dev/zero")
	require.NoError(t, err)
	defer endless.Close()
	require.NoError(t, c.Run(t.Context(), "true", remote.RunOptions{Stdin: endless}))
}

func TestRunReportsStatusAndLastWords(t *testing.T) {
	t.Parallel()
	c := dial(t, newServer(t))
	err := c.Run(t.Context(), "for i in $(seq 30); do echo line $i >&2; done; echo >&2; exit 3", remote.RunOptions{})
	require.Equal(t, remote.KindExit, remote.KindOf(err))
	var exit *remote.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 3, exit.Status)
	require.Len(t, exit.Stderr, 10)
	require.Equal(t, "line 30", exit.Stderr[9])
	require.Contains(t, err.Error(), "exit status 3: line 30")

	err = c.Run(t.Context(), "kill -9 $$", remote.RunOptions{})
	require.ErrorAs(t, err, &exit)
	require.Equal(t, "KILL", exit.Signal)
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	c := dial(t, newServer(t))
	why := errors.New("the tick is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	began := time.Now()
	err := c.Run(ctx, "echo up; exec sleep 600", remote.RunOptions{Stdout: func(string) { cancel(why) }})
	require.ErrorIs(t, err, why)
	require.Less(t, time.Since(began), 5*time.Minute)
	require.NoError(t, c.Run(t.Context(), "true", remote.RunOptions{}), "the connection is still good")
}

func TestRunNoticesALostConnection(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := dial(t, s)
	err := c.Run(t.Context(), "echo up; sleep 60", remote.RunOptions{Stdout: func(string) { s.dropAll() }})
	require.Equal(t, remote.KindClosed, remote.KindOf(err), err)
	<-c.Done()
	err = c.Run(t.Context(), "true", remote.RunOptions{})
	require.Equal(t, remote.KindClosed, remote.KindOf(err), err)
}

func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	c := dial(t, newServer(t))
	out, err := c.Output(t.Context(), "cat; echo x >&2", strings.NewReader("hello"), 5)
	require.NoError(t, err)
	require.Equal(t, "hello", string(out))
	_, err = c.Output(t.Context(), "yes | head -c 100000", nil, 1000)
	require.ErrorContains(t, err, "more than 1000 bytes")
	_, err = c.Output(t.Context(), "echo why >&2; exit 1", nil, 10)
	require.ErrorContains(t, err, "exit status 1: why")
}

func TestUploadIsAllOrNothing(t *testing.T) {
	t.Parallel()
	c := dial(t, newServer(t))
	dir := t.TempDir()
	name := filepath.Join(dir, "secret")
	require.NoError(t, os.WriteFile(name, []byte("old"), 0o644))

	err := c.Upload(t.Context(), name, 0o600, io.MultiReader(strings.NewReader("half"), failingReader{}))
	require.Error(t, err)
	old, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "old", string(old))

	require.NoError(t, c.Upload(t.Context(), name, 0o600, strings.NewReader("new")))
	got, err := c.ReadFile(t.Context(), name, 3)
	require.NoError(t, err)
	require.Equal(t, "new", string(got))
	info, err := os.Stat(name)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "a partial file was left behind")
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errors.New("broken input") }

func TestReadFileRefuses(t *testing.T) {
	t.Parallel()
	c := dial(t, newServer(t))
	name := filepath.Join(t.TempDir(), "f")
	_, err := c.ReadFile(t.Context(), name, 10)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Equal(t, remote.KindFile, remote.KindOf(err))
	require.NoError(t, os.WriteFile(name, make([]byte, 11), 0o600))
	_, err = c.ReadFile(t.Context(), name, 10)
	require.ErrorContains(t, err, "longer than 10 bytes")
}
