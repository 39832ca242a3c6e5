package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/sftp"
)

// Job is long work that runs detached on the machine, in its own directory /tmp/gybe-<RunID>:
//
//	lock      held while the job runs: the only reliable sign that it is alive, also after a reboot
//	run       the shell script that runs Command and writes the other files
//	started/  created by the run that starts; a job starts once
//	pgid      its process group
//	log       its output
//	rc        its exit status, once it has ended
//
// and Files. The directory belongs to the user of the login, and no other user can read it.
type Job struct {
	// RunID names this run: the same id means the same run, for all callers. Letters, digits, '.', '_' and '-', at most
	// 100.
	RunID string
	// Command is a line for bash, run in the job's directory.
	Command string
	// Env is added to the command's environment. No secrets.
	Env map[string]string
	// Files are put into the directory before the start.
	Files []File
}

// File is a file of a job.
type File struct {
	Name    string // plain name, or "folder/name"
	Mode    fs.FileMode
	Content []byte
	// Secret files are removed when the command has ended.
	Secret bool
}

// State is where a job stands.
type State string

// The states of a job.
const (
	Absent  State = "absent"  // the job does not exist: it never started, or a reboot has emptied /tmp
	Running State = "running" // it runs
	Exited  State = "exited"  // it has ended and left its exit status
	Lost    State = "lost"    // it is gone without an exit status: killed, or the machine went down
)

// Status is what is known about a job.
type Status struct {
	State State
	Code  int // exit status, when Exited
	// Offset is the position in the log up to which Follow has passed on lines.
	Offset int64
}

var (
	runID    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
	fileName = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]{0,99}/)?[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
	envName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	reserved = []string{"lock", "run", "started", "pgid", "log", "rc", "rc.tmp"}
)

// Dir is the directory of the job with this id.
func Dir(id string) string { return "/tmp/gybe-" + id }

func validID(id string) error {
	if !runID.MatchString(id) {
		return fmt.Errorf("invalid run id %q", id)
	}
	return nil
}

func (j Job) valid() error {
	if err := validID(j.RunID); err != nil {
		return err
	}
	for _, f := range j.Files {
		top, _, _ := strings.Cut(f.Name, "/")
		if !fileName.MatchString(f.Name) || slices.Contains(reserved, top) {
			return fmt.Errorf("invalid file name %q", f.Name)
		}
	}
	for name := range j.Env {
		if !envName.MatchString(name) {
			return fmt.Errorf("invalid environment variable %q", name)
		}
	}
	return nil
}

// script is the job's run file.
func (j Job) script() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "cd %s || exit 1\numask 077\n", Quote(Dir(j.RunID)))
	// The lock admits one of several starters. The parent is flock, the leader of the process group.
	b.WriteString("mkdir started 2>/dev/null || exit 0\necho \"$PPID\" >pgid\n")
	for _, k := range slices.Sorted(maps.Keys(j.Env)) {
		fmt.Fprintf(&b, "export %s=%s\n", k, Quote(j.Env[k]))
	}
	// A subshell, so that an "exit" of the command does not end this script.
	fmt.Fprintf(&b, "(\n%s\n)\nrc=$?\n", j.Command)
	for _, f := range j.Files {
		if f.Secret {
			fmt.Fprintf(&b, "rm -f %s\n", Quote("./"+f.Name))
		}
	}
	b.WriteString("echo \"$rc\" >rc.tmp && mv rc.tmp rc\n")
	return b.Bytes()
}

// Quote makes one word of a POSIX shell of s.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// statusScript prints the state of the job in the directory $d. The job runs if its lock is held: flock holds it for
// the life of the job, and the kernel releases it in any case.
const statusScript = `look() {
  if [ -e "$d/rc" ]; then echo "exited $(cat "$d/rc")"; return; fi
  if [ ! -d "$d/started" ]; then echo absent; return; fi
  if ! flock -n "$d/lock" true; then echo running; return; fi
  if [ -e "$d/rc" ]; then echo "exited $(cat "$d/rc")"; return; fi
  echo lost
}
`

// parseStatus reads the state of a job as the shell functions print it; false if it is none.
func parseStatus(out []byte) (Status, bool) {
	words := strings.Fields(string(out))
	if len(words) == 0 {
		return Status{}, false
	}
	st := Status{State: State(words[0])}
	switch {
	case len(words) == 1 && (st.State == Absent || st.State == Running || st.State == Lost):
		return st, true
	case len(words) == 2 && st.State == Exited:
		code, err := strconv.ParseUint(words[1], 10, 8)
		st.Code = int(code)
		if err == nil {
			return st, true
		}
	}
	return Status{}, false
}

// shell runs a script for one job; d is its directory. The script is passed as the command.
func (c *Client) shell(ctx context.Context, id, body string) (Status, error) {
	out, err := c.Output(ctx, "d="+Quote(Dir(id))+"\n"+body, nil, 4096)
	if err != nil {
		return Status{}, err
	}
	if st, ok := parseStatus(out); ok {
		return st, nil
	}
	if strings.TrimSpace(string(out)) == "foreign" {
		return Status{}, &Error{Kind: KindFile, Op: "look at job " + id, Target: c.target.String(), Err: fmt.Errorf(
			"%s belongs to another user", Dir(id),
		)}
	}
	return Status{}, &Error{Kind: KindProtocol, Op: "look at job " + id, Target: c.target.String(), Err: fmt.Errorf(
		"unexpected answer %q", string(out),
	)}
}

// Status returns the state of a job.
func (c *Client) Status(ctx context.Context, id string) (Status, error) {
	if err := validID(id); err != nil {
		return Status{}, err
	}
	return c.shell(ctx, id, statusScript+"look")
}

// StartOrAdopt starts the job, unless this or another process has started it before: then it returns the job's state
// and adopted is true. The caller follows the job in either case, also if it is Exited or Lost. To run it again, it
// uses another run id.
func (c *Client) StartOrAdopt(ctx context.Context, j Job) (st Status, adopted bool, err error) {
	if err := j.valid(); err != nil {
		return Status{}, false, err
	}
	st, err = c.shell(ctx, j.RunID, statusScript+`umask 077
mkdir "$d" 2>/dev/null || [ "$(stat -c %u "$d")" = "$(id -u)" ] || { echo foreign; exit; }
look`)
	if err != nil || st.State != Absent {
		return st, err == nil, err
	}
	// Two starters may get here at the same time. They write the same files, each by rename, and the lock admits one of
	// them.
	err = c.withSFTP(ctx, "upload the files of job "+j.RunID, func(s *sftp.Client) error {
		files := slices.Concat(j.Files, []File{{Name: "run", Mode: 0o600, Content: j.script()}})
		for _, f := range files {
			if folder, _, ok := strings.Cut(f.Name, "/"); ok {
				if err := s.MkdirAll(Dir(j.RunID) + "/" + folder); err != nil {
					return fmt.Errorf("%s: %w", folder, err)
				}
			}
			if err := upload(s, Dir(j.RunID)+"/"+f.Name, f.Mode, bytes.NewReader(f.Content)); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
		}
		return nil
	})
	if err != nil {
		return Status{}, false, err
	}
	st, err = c.shell(ctx, j.RunID, statusScript+`umask 077
setsid --fork flock -n -o "$d/lock" bash "$d/run" >>"$d/log" 2>&1 </dev/null
i=0
while [ ! -d "$d/started" ] && [ $i -lt 200 ]; do
  i=$((i + 1))
  sleep 0.1
done
look`)
	if err == nil && st.State == Absent {
		err = &Error{Kind: KindProtocol, Op: "start job " + j.RunID, Target: c.target.String(), Err: errors.New(
			"it did not start within 20 seconds",
		)}
	}
	return st, false, err
}

// Kill ends a job and the processes in its process group. It succeeds if the job has already ended.
func (c *Client) Kill(ctx context.Context, id string) error {
	if err := validID(id); err != nil {
		return err
	}
	_, err := c.shell(ctx, id, statusScript+`s=$(look)
if [ "$s" = running ]; then
  p=$(cat "$d/pgid")
  sudo -n kill -TERM -- "-$p" 2>/dev/null || kill -TERM -- "-$p"
fi
echo "$s"`)
	return err
}

// Cleanup removes the files of a job. It returns an error for a running job, and does not change it.
func (c *Client) Cleanup(ctx context.Context, id string) error {
	if err := validID(id); err != nil {
		return err
	}
	st, err := c.shell(ctx, id, statusScript+`s=$(look)
if [ "$s" != running ]; then rm -rf "$d"; fi
echo "$s"`)
	if err == nil && st.State == Running {
		return &Error{
			Kind: KindFile, Op: "remove job " + id, Target: c.target.String(), Err: errors.New("it is still running"),
		}
	}
	return err
}

// CleanupAll removes the files of all jobs whose id starts with prefix, except running ones.
func (c *Client) CleanupAll(ctx context.Context, prefix string) error {
	if err := validID(prefix); err != nil {
		return err
	}
	_, err := c.Output(ctx, statusScript+"for d in "+Dir(prefix)+`*; do
  if [ -d "$d" ] && [ "$(look)" != running ]; then rm -rf "$d"; fi
done`, nil, 4096)
	return err
}
