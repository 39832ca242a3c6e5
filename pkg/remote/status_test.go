package remote

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseStatus(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Status{
		"absent\n": {State: Absent}, "running\n": {State: Running}, "lost": {State: Lost},
		"exited 0\n": {State: Exited}, "exited 137\n": {State: Exited, Code: 137},
		"exited  7 \n": {State: Exited, Code: 7},
	} {
		got, ok := parseStatus([]byte(text))
		require.True(t, ok, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{
		"", "exited", "exited x", "exited 1x", "exited 1 2", "foreign", "EXITED 0", "running now",
	} {
		_, ok := parseStatus([]byte(text))
		require.False(t, ok, text)
	}
}

// FuzzParseStatus: the answer of a machine about a job is one of four states, or rejected.
func FuzzParseStatus(f *testing.F) {
	for _, text := range []string{
		"absent", "running\n", "exited 0\n", "exited -1", "foreign", "exited 99999999999999999999",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		st, ok := parseStatus(out)
		if !ok {
			require.Zero(t, st)
			return
		}
		require.Contains(t, []State{Absent, Running, Lost, Exited}, st.State)
		require.True(t, st.State == Exited || st.Code == 0)
		require.True(t, st.Code >= 0 && st.Code <= 255, "%d is not an exit status", st.Code)
	})
}

// FuzzFollower: the offsets of a job's log count every byte, so that a caller that continues at one gets each line
// once, however the log arrives.
func FuzzFollower(f *testing.F) {
	f.Add([]byte("a\nb\r\n\x00c\n\nrest"), 1, 2)
	f.Add(append(make([]byte, 3*MaxLine), "\nshort\n"...), 100, 1)
	f.Fuzz(func(t *testing.T, log []byte, size, resume int) {
		type line struct {
			text string
			next int64
		}
		read := func(from int64, size int) (lines []line) {
			w := &follower{at: from, line: func(text string, next int64) { lines = append(lines, line{text, next}) }}
			for rest := log[from:]; len(rest) > 0; {
				n := min(max(1, size), len(rest))
				w.splitLines(rest[:n])
				require.LessOrEqual(t, len(w.rest), MaxLine)
				rest = rest[n:]
			}
			w.emitRest()
			require.Equal(t, int64(len(log)), w.at)
			return lines
		}
		all := read(0, len(log))
		require.Equal(t, all, read(0, size))
		if len(all) > 0 {
			i := max(0, resume) % len(all)
			require.Equal(t, append([]line(nil), all[i+1:]...), read(all[i].next, size))
		}
	})
}
