package remote_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/remote"
)

func TestJobRunsToItsEnd(t *testing.T) {
	t.Parallel()
	c := dial(t, newServer(t))
	id := newRunID(t)
	st, adopted, err := c.StartOrAdopt(t.Context(), remote.Job{
		RunID:   id,
		Command: `echo "$GREETING"; pwd; stat -c '%a %n' secret script; bash ./script "it's"; printf 'no line end'; exit 7`,
		Env:     map[string]string{"GREETING": `he said "it's $HOME"`},
		Files: []remote.File{
			{Name: "script", Mode: 0o700, Content: []byte("echo script $1; cat secret\n")},
			{Name: "secret", Mode: 0o600, Content: []byte("sesame\n"), Secret: true},
		},
	})
	require.NoError(t, err)
	require.False(t, adopted)
	require.Contains(t, []remote.State{remote.Running, remote.Exited}, st.State)
	var lines []string
	st, err = c.Follow(t.Context(), id, 0, func(line string, _ int64) { lines = append(lines, line) })
	require.NoError(t, err)
	require.Equal(t, remote.Exited, st.State)
	require.Equal(t, 7, st.Code)
	require.Equal(t, []string{
		`he said "it's $HOME"`, remote.Dir(id), "600 secret", "700 script", "script it's", "sesame", "no line end",
	}, lines)
	require.NoFileExists(t, remote.Dir(id)+"/secret")
	info, err := os.Stat(remote.Dir(id))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())

	// A later caller gets the same end, and all lines.
	st, adopted, err = c.StartOrAdopt(t.Context(), remote.Job{RunID: id, Command: "echo never"})
	require.NoError(t, err)
	require.True(t, adopted)
	require.Equal(t, remote.Status{State: remote.Exited, Code: 7}, st)
	var again []string
	st, err = c.Follow(t.Context(), id, 0, func(line string, _ int64) { again = append(again, line) })
	require.NoError(t, err)
	require.Equal(t, 7, st.Code)
	require.Equal(t, lines, again)

	require.NoError(t, c.Cleanup(t.Context(), id))
	require.NoDirExists(t, remote.Dir(id))
	st, err = c.Status(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, remote.Absent, st.State)
}

// A machine that has just booted has a lot to do: a job that begins late has begun.
func TestJobOnABusyMachineMayBeginLate(t *testing.T) {
	busy := filepath.Join(t.TempDir(), "busy")
	require.NoError(t, os.WriteFile(busy, []byte(`case "$0" in */run) sleep 2 ;; esac`), 0o600))
	t.Setenv("BASH_ENV", busy)
	c := dial(t, newServer(t))
	st, adopted, err := c.StartOrAdopt(t.Context(), remote.Job{RunID: newRunID(t), Command: "exit 3"})
	require.NoError(t, err)
	require.False(t, adopted)
	require.Contains(t, []remote.State{remote.Running, remote.Exited}, st.State)
}

// A node that is killed, its replacement, and a paused one that wakes up all start the same job: the machine must do it
// once.
func TestJobStartedByManyRunsOnce(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	id := newRunID(t)
	out := filepath.Join(t.TempDir(), "out")
	started := new(atomic.Int32)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			c, err := remote.Dial(t.Context(), s.target(), remote.Options{HostKeys: &keys{}})
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			if _, adopted, err := c.StartOrAdopt(
				t.Context(), remote.Job{RunID: id, Command: "echo x >>" + remote.Quote(out) + "; sleep 0.3"},
			); err != nil {
				t.Error(err)
				return
			} else if !adopted {
				started.Add(1)
			}
			if st, err := c.Follow(t.Context(), id, 0, nil); err != nil || st.State != remote.Exited || st.Code != 0 {
				t.Error(st, err)
			}
		})
	}
	wg.Wait()
	require.Positive(t, started.Load())
	ran, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Equal(t, "x\n", string(ran))
}

// The log must be complete, each line once, whatever happens to the connection.
func TestFollowGoesOnWhereItWasCut(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	id := newRunID(t)
	c := dial(t, s)
	// The job waits at a gate after every 50 lines, so that it cannot end before the last cut.
	const total, block, cutAfter, allCuts = 400, 50, 40, 6
	gate := filepath.Join(t.TempDir(), "gate")
	command := fmt.Sprintf(
		"for i in $(seq %d); do echo \"line $i é\"; if ((i %% %d == 0 && i <= %d)); then until [ -e %s$i ]; do sleep "+
			"0.01; done; fi; done",
		total, block, allCuts*block, remote.Quote(gate))
	_, _, err := c.StartOrAdopt(t.Context(), remote.Job{RunID: id, Command: command})
	require.NoError(t, err)
	var lines []string
	var offset int64
	cuts := 0
	for {
		ctx, cancel := context.WithCancel(t.Context())
		seen := 0
		st, err := c.Follow(ctx, id, offset, func(line string, next int64) {
			lines, offset = append(lines, line), next
			if seen++; seen == cutAfter && cuts < allCuts {
				cuts++
				if cuts%2 == 0 {
					cancel()
				} else {
					s.dropAll()
				}
			}
		})
		cancel()
		if err == nil {
			require.Equal(t, remote.Exited, st.State)
			require.Equal(t, offset, st.Offset)
			break
		}
		require.Equal(t, remote.Running, st.State)
		offset = st.Offset
		if remote.KindOf(err) == remote.KindClosed {
			c = dial(t, s)
		} else {
			require.ErrorIs(t, err, context.Canceled)
		}
		if cuts > 0 {
			require.NoError(t, os.WriteFile(gate+strconv.Itoa(cuts*block), nil, 0o600))
		}
	}
	require.Equal(t, allCuts, cuts)
	require.Len(t, lines, total)
	for i, line := range lines {
		require.Equal(t, "line "+strconv.Itoa(i+1)+" é", line)
	}
}

func TestFollowCountsBytesOfLinesItCuts(t *testing.T) {
	t.Parallel()
	c := dial(t, newServer(t))
	id := newRunID(t)
	_, _, err := c.StartOrAdopt(
		t.Context(), remote.Job{RunID: id, Command: `head -c 100000 /dev/zero | tr '\0' x; echo; echo end`},
	)
	require.NoError(t, err)
	var lines []string
	var offsets []int64
	st, err := c.Follow(t.Context(), id, 0, func(line string, next int64) {
		lines, offsets = append(lines, line), append(offsets, next)
	})
	require.NoError(t, err)
	require.Equal(t, []int64{100001, 100005}, offsets)
	require.Equal(t, int64(100005), st.Offset)
	require.Equal(t, []string{strings.Repeat("x", remote.MaxLine) + "…", "end"}, lines)
}

// A machine that went down in the middle must not be waited for until the operation's deadline.
func TestJobThatDiedIsLost(t *testing.T) {
	t.Parallel()
	c := dial(t, newServer(t))
	id := newRunID(t)
	_, _, err := c.StartOrAdopt(t.Context(), remote.Job{RunID: id, Command: "echo begun; exec sleep 60"})
	require.NoError(t, err)
	var lines []string
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err = c.Follow(ctx, id, 0, func(line string, _ int64) {
		lines = append(lines, line)
		cancel()
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []string{"begun"}, lines)

	st, err := c.Status(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, remote.Running, st.State)
	require.ErrorContains(t, c.Cleanup(t.Context(), id), "still running")
	require.NoError(t, c.Kill(t.Context(), id))
	require.Eventually(t, func() bool {
		st, err := c.Status(t.Context(), id)
		return err == nil && st.State == remote.Lost
	}, time.Minute, 20*time.Millisecond)

	st, adopted, err := c.StartOrAdopt(t.Context(), remote.Job{RunID: id, Command: "echo never"})
	require.NoError(t, err)
	require.True(t, adopted)
	require.Equal(t, remote.Lost, st.State, "it is the caller who decides to run it again, under another id")
	require.NoError(t, c.Kill(t.Context(), id))
}

func TestFollowOfAJobThatVanished(t *testing.T) {
	t.Parallel()
	c := dial(t, newServer(t))
	st, err := c.Follow(t.Context(), newRunID(t), 0, nil)
	require.NoError(t, err)
	require.Equal(t, remote.Absent, st.State)
}

// Another user of the machine who guesses the directory's name must not get the job's files.
func TestJobRefusesADirectoryOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: needs root to make a directory of another user")
	}
	c := dial(t, newServer(t))
	id := newRunID(t)
	require.NoError(t, os.Mkdir(remote.Dir(id), 0o700))
	require.NoError(t, os.Chown(remote.Dir(id), 12345, 12345))
	_, _, err := c.StartOrAdopt(t.Context(), remote.Job{RunID: id, Command: "true"})
	require.ErrorContains(t, err, "belongs to another user")
}

func TestJobRefusesWhatWouldEscapeItsDirectory(t *testing.T) {
	t.Parallel()
	c := dial(t, newServer(t))
	for name, j := range map[string]remote.Job{
		"run id":        {RunID: "../etc"},
		"empty run id":  {},
		"file name":     {RunID: "x", Files: []remote.File{{Name: "../x"}}},
		"reserved file": {RunID: "x", Files: []remote.File{{Name: "rc"}}},
		"variable":      {RunID: "x", Env: map[string]string{"A=B;C": ""}},
	} {
		_, _, err := c.StartOrAdopt(t.Context(), j)
		require.ErrorContains(t, err, "invalid", name)
	}
}

func TestFollowEndsWithItsContext(t *testing.T) {
	t.Parallel()
	c := dial(t, newServer(t))
	id := newRunID(t)
	_, _, err := c.StartOrAdopt(t.Context(), remote.Job{RunID: id, Command: "echo up; exec sleep 60"})
	require.NoError(t, err)
	why := errors.New("the tick is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	st, err := c.Follow(ctx, id, 0, func(string, int64) { cancel(why) })
	require.ErrorIs(t, err, why)
	require.Equal(t, remote.Running, st.State)
	require.NoError(t, c.Kill(t.Context(), id))
}

func TestCleanupAllLeavesOthersAndTheRunningAlone(t *testing.T) {
	t.Parallel()
	c := dial(t, newServer(t))
	prefix, other := newRunID(t), newRunID(t)
	ids := map[string]string{
		prefix + "-done": "true", prefix + "-lost": "kill -9 $PPID", prefix + "-running": "exec sleep 60",
		other: "true",
	}
	for id, command := range ids {
		t.Cleanup(func() { _ = os.RemoveAll(remote.Dir(id)) })
		_, _, err := c.StartOrAdopt(t.Context(), remote.Job{RunID: id, Command: command})
		require.NoError(t, err)
		if id != prefix+"-running" {
			_, err = c.Follow(t.Context(), id, 0, nil)
			require.NoError(t, err)
		}
	}
	require.NoError(t, c.CleanupAll(t.Context(), prefix))
	require.NoDirExists(t, remote.Dir(prefix+"-done"))
	require.NoDirExists(t, remote.Dir(prefix+"-lost"))
	require.DirExists(t, remote.Dir(prefix+"-running"))
	require.DirExists(t, remote.Dir(other))
	require.NoError(t, c.Kill(t.Context(), prefix+"-running"))
}
