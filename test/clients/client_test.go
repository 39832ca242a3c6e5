package clients_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// python is the interpreter of Debian's packages.
const python = "/usr/bin/python3"

// commands runs commands of the openstack client (forkserver.py). They run at the same time.
type commands struct {
	mu      sync.Mutex
	stdin   io.Writer
	last    int
	waiting map[string]chan int // exit codes by the ids of requests; closed when the program has ended
	ended   bool
}

// request is a line for the program.
type request struct {
	ID     string            `json:"id"`
	Args   []string          `json:"args"`
	Env    map[string]string `json:"env"`
	Dir    string            `json:"dir"`
	Stdout string            `json:"stdout"`
	Stderr string            `json:"stderr"`
}

// client is the client of this machine, started once for all tests: it ends with the test program, which closes its
// standard input. An error says that the client is not installed.
var client = sync.OnceValues(func() (*commands, error) {
	if raw, err := exec.Command(python, "-c", "import openstackclient, tackerclient").CombinedOutput(); err != nil {
		return nil, errors.Join(err, errors.New(string(raw)))
	}
	cmd := exec.Command(python, "forkserver.py")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &commands{stdin: stdin, waiting: map[string]chan int{}}
	go c.read(stdout)
	return c, nil
})

// read hands out the exit codes.
func (c *commands) read(stdout io.Reader) {
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		var answer struct {
			ID   string `json:"id"`
			Code int    `json:"code"`
		}
		if json.Unmarshal(lines.Bytes(), &answer) != nil {
			continue
		}
		c.mu.Lock()
		if to := c.waiting[answer.ID]; to != nil {
			to <- answer.Code
			delete(c.waiting, answer.ID)
		}
		c.mu.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for _, to := range c.waiting {
		close(to)
	}
}

// start starts a command. The channel gets its exit code; it is closed without one when the program has ended.
func (c *commands) start(r request) (<-chan int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return nil, errors.New("forkserver.py has ended")
	}
	c.last++
	r.ID = strconv.Itoa(c.last)
	raw, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	code := make(chan int, 1)
	c.waiting[r.ID] = code
	_, err = c.stdin.Write(append(raw, '\n'))
	return code, err
}

// call runs a command in the working folder of a world, and returns both outputs.
func (w *world) call(args []string, env map[string]string) (out, errs string, code int) {
	w.t.Helper()
	files := w.t.TempDir()
	r := request{
		Args: args, Env: env, Dir: w.dir,
		Stdout: filepath.Join(files, "out"), Stderr: filepath.Join(files, "err"),
	}
	exit, err := w.client.start(r)
	if err != nil {
		w.t.Fatal(err)
	}
	select {
	case got, ok := <-exit:
		if !ok {
			w.t.Fatal("forkserver.py has ended")
		}
		code = got
	case <-w.t.Context().Done():
		w.t.Fatal("the test has ended before the command")
	}
	return w.content(r.Stdout), w.content(r.Stderr), code
}

func (w *world) content(file string) string {
	w.t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(raw)
}

// TestTheClientRunsCommandsAsItsProgramDoes compares a command of the forked client with one of /usr/bin/openstack.
func TestTheClientRunsCommandsAsItsProgramDoes(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, line := range []string{"vnflcm show nonsense", "vnflcm create"} {
		out, errs, err := w.try(line)
		wantOut, wantErrs, wantErr := w.program(line)
		if out != wantOut || errs != wantErrs || (err == nil) != (wantErr == nil) {
			t.Errorf("%s: %v %s%s; the program: %v %s%s", line, err, out, errs, wantErr, wantOut, wantErrs)
		}
	}
}
