package shell_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/coreutils"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/memfs"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/shell"
)

// newSystem is a machine with a shell, the ordinary programs and little else.
func newSystem(t *testing.T, speed float64) *process.System {
	t.Helper()
	clock := process.NewClock(speed)
	s := &process.System{
		FS: memfs.New(clock.Now, 0), Clock: clock, Hostname: func() string { return "box" },
		Lookup: func(name string) process.Program {
			switch name {
			case "bash":
				return shell.Bash
			case "sh":
				return shell.Sh
			}
			return coreutils.Programs[name]
		},
	}
	v := s.FS.As(memfs.Root)
	for _, d := range []string{"/usr/bin", "/tmp", "/etc", "/root", "/dev"} {
		require.NoError(t, v.MkdirAll(d, 0o755))
	}
	require.NoError(t, v.Chmod("/tmp", os.ModeSticky|0o777))
	require.NoError(t, v.Symlink("usr/bin", "/bin"))
	require.NoError(t, v.WriteFile(
		"/etc/passwd", []byte("root:x:0:0:root:/root:/bin/bash\nubuntu:x:1000:1000::/tmp:/bin/bash\n"), 0o644,
	))
	require.NoError(t, v.WriteFile("/etc/group", []byte("root:x:0:\nsudo:x:27:ubuntu\nubuntu:x:1000:\n"), 0o644))
	s.FS.Device("/dev/null", "null")
	s.FS.Device("/dev/urandom", "urandom")
	for name := range coreutils.Programs {
		require.NoError(t, v.WriteFile("/usr/bin/"+name, process.Executable(name), 0o755))
	}
	for _, name := range []string{"bash", "sh"} {
		require.NoError(t, v.WriteFile("/usr/bin/"+name, process.Executable(name), 0o755))
	}
	s.PowerOn(t.Context())
	t.Cleanup(s.PowerOff)
	return s
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// run runs a command as root and returns what it printed and its status.
func run(t *testing.T, s *process.System, stdin string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	root, ok := s.Account("root")
	require.True(t, ok)
	p, err := s.NewProc(root, args...)
	require.NoError(t, err)
	p.Dir = "/tmp"
	var out, errs buffer
	p.SetFD(0, process.NewFD(process.FromIO(strings.NewReader(stdin), nil, nil)))
	p.SetFD(1, process.NewFD(process.FromIO(nil, &out, nil)))
	p.SetFD(2, process.NewFD(process.FromIO(nil, &errs, nil)))
	file, err := p.LookPath(args[0])
	require.NoError(t, err)
	prog, err := p.Load(file)
	require.NoError(t, err)
	p.Launch(prog)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	status, err = p.Wait(ctx)
	require.NoError(t, err, "the command hangs; so far:\n%s%s", out.String(), errs.String())
	return out.String(), errs.String(), status
}

// scripts are run by the simulated and by the real bash; output and status must be the same.
var scripts = map[string]string{}

func add(name, script string) { scripts[name] = script }

func init() { //nolint:gochecknoinits // a table in pieces
	add("redirect order", `{ echo out; echo err >&2; } 2>&1 >/dev/null | sed 's/^/p:/'; { echo out; echo err >&2; } >f 2>&1; cat f; rm f`)
	add("test files", `touch f; mkdir d; [ -f f ] && [ -d d ] && [ -e f ] && echo ok; [ -x d ] && echo xd; [ -s f ] || echo empty; [[ -v HOME ]] && echo v; rm -r f d`)
	add("env", `X=1 bash -c 'echo $X'; echo "[$X]"; export Y=2; bash -c 'echo $Y'; Z=3; bash -c 'echo "[$Z]"'; env A=b bash -c 'echo $A'; f() { echo $Q; bash -c 'echo $Q'; }; Q=5 f; echo "[$Q]"; unset Y; bash -c 'echo "[$Y]"'`)
	add("setsid", `setsid --fork bash -c 'sleep 1; echo done >f.tmp; mv f.tmp f' </dev/null >/dev/null 2>&1; [ -e f ] || echo notyet; until [ -e f ]; do sleep 0.02; done; cat f; rm f`)
	add("sigpipe", `seq 100000 | head -1; set -o pipefail; seq 100000 | head -2 >/dev/null; echo $?`)
	add("sed", `printf 'one\ntwo\nthree\n' >f; sed -n 2p f; sed '2d' f; sed 's/t/T/' f; sed 's/[aeiou]/_/g;s/$/!/' f; sed -n '/two/,$p' f; sed -E 's/(t)(.)/\2\1/' f; sed 's#/#_#g' <<<a/b/c; sed '/^$/d' <<<$'a\n\nb'; sed -e 's/o/0/' -e '/n/!d' f; sed 's/.*/"&$1"/' f; sed -n 's/.*e="\([^"]*\)".*/\1/p' <<<'x e="y" z'; sed 's/[/]/|/' <<<a/b; rm f`)
	add("grep", `printf 'apple\nBanana\ncherry\n' >f; grep an f; grep -i APP f; grep -v an f; grep -c e f; grep -q zzz f; echo $?; grep -E '^(a|c)' f; grep -F . f; echo $?; grep -o '[a-c]' f; grep nope nofile 2>/dev/null; echo $?; grep -x apple f; grep 'p\{2\}' f; grep 'a\|c' f; grep -h e f f; rm f`)
	add("text", `printf 'c\na\nb\na\n' >f; cut -d: -f1,3 <<<a:b:c; cut -c2-3 <<<hello; tr a-z A-Z <<<abc; tr -d '\n' <f; echo; head -n2 f; head -1 f; tail -n1 f; tail -2 f; tail -n +3 f; tail -c +3 f; tail -c 2 f; wc -l <f; wc -c <f; tee g <f >/dev/null; cmp f g && echo same; rm f g; seq 3; seq 2 4; tr ',' '\n' <<<a,b`)
	add("files", `mkdir -p a/b; echo x >a/b/f; cp -r a c; cat c/b/f; mv c/b/f c/g; ls c; cp a/b/f a/; ls a; rm -r c; [ -e c ] || echo gone; dirname /x/y; install -m 600 a/f i; stat -c %a i; rm -rf a i; rm nofile 2>/dev/null; echo $?; rm -f nofile; echo $?; mkdir -m 700 m; stat -c '%a %n' m; chmod g+x m; stat -c %a m; rm -r m; d=$(mktemp -d); stat -c %a $d; rm -rf $d`)
	add("hash", `printf abc | sha256sum; printf hello | base64; printf aGVsbG8= | base64 -d; echo; base64 -w0 <<<"a long line that is longer than seventy six characters so that it would wrap"; echo`)
	add("tar", `mkdir d; echo x >d/f; tar -czf t.tgz d; rm -r d; tar -xzf t.tgz; cat d/f; mkdir o; tar -xzf t.tgz -C o d/f; cat o/d/f; tar -xzf t.tgz nosuch 2>/dev/null; echo $?; rm -r d o t.tgz`)
	add("id", `id -u; whoami; printenv NOPE; echo $?; true; false; echo $?; [ "$(date +%s)" -gt 1700000000 ] && echo now`)
	add("errexit", `set -e; f() { false; echo not; }; if f; then echo cond; fi; f || echo or; f; echo never`)
	add("getopts", `f() { local o OPTIND=1; while getopts dom:i: o; do case $o in m) echo "m=$OPTARG";; i) echo "i=$OPTARG";; d|o) echo $o;; esac; done; shift $((OPTIND-1)); echo "rest $*"; }; f -d -m 1,2 -i x -o a b; f -om y`)
	add("nounset", `set -u; echo "${x:-ok}"; y=; echo "[$y]"; a=(); echo "${#a[@]}" "${a[@]}"; ( set +u; echo "[$z]" ); bash -uc 'echo $z; echo never' 2>/dev/null || echo refused`)
	add("read", `read -r a b <<<'1 2 3'; echo "$b"; IFS=, read -r -a l <<<x,y,z; echo "${#l[@]} ${l[2]}"; printf 'p q\n r' | while read -r x y; do echo "$y-$x"; done`)
	add("mapfile", `mapfile -t l <<<$'a b\nc'; echo "${#l[@]} ${l[0]}"`)
	add("pipefail", `false | true; echo $?; set -o pipefail; false | true; echo $?; (exit 3) | (exit 4) | true; echo $?`)
	add("background", `(sleep 0.05; echo bg >f) & wait; cat f; rm f; (exit 5) & wait $!; echo $?`)
	add("command v", `command -v echo; command -v nosuch_y || echo none; f() { :; }; command -v f; command echo x; hash -r`)
	add("umask", `umask; (umask 077; touch f; stat -c %a f; umask); umask; echo x >g; stat -c %a g; rm f g`)
	add("process ids", `[ "$$" -gt 0 ] && [ "$PPID" != "$$" ] && echo ids; bash -c 'echo $PPID' | { read -r p; [ "$p" = "$$" ] && echo child; }`)
	add("trap of a signal", `bash -c 'trap "echo bye" EXIT; kill -TERM $$; sleep 9; echo never'; echo $?`)
	add("file errors", `cat nofile; cp nofile x; mv nofile x; mkdir a; mkdir a; rm nofile; ls nofile`)
	add("words", `a="x  y"; echo $a "$a" '$a' \$a "${a/x/z}" ${#a} "${a%y}" ${b:-def} "${a^^}"; echo {1..5} {a,b}{1,2}`)
	add("arith", `i=5; ((i++)); echo $((i*2)) $((i>3&&i<10)) $((0x10)) $((7%3)) $((1<<4)); let i+=2; echo $i; ((i==8)) && echo eight`)
	add("arrays", `a=(one two "three four"); a+=(five); echo "${a[@]}" ${#a[@]} "${a[-1]}" "${!a[@]}"; a[7]=x; echo "${!a[@]}"; unset 'a[1]'; printf '<%s>' "${a[@]}"; echo "${a[@]:1:2}"`)
	add("errexit function end", `set -e; f() { [ 1 = 2 ] && echo x; }; f; echo never`)
	add("errexit local", `set -e; f() { local x=$(false); echo on; }; f; g() { local x; x=$(false); echo no; }; g; echo never`)
	add("errexit negated", `set -e; ! true; echo a; ! false; echo b; true && ! true; echo c; while false; do :; done; echo d; until true; do :; done; echo e`)
	add("errexit pipe", `set -eo pipefail; false | true && echo x || echo y; false | cat; echo never`)
	add("trap exit", `trap 'echo bye $?' EXIT; echo hi; exit 3`)
	add("trap errtrace", `set -E; trap 'echo err' ERR; f() { false; true; }; f; echo end`)
	add("redirect append", `echo a >f; echo b >>f; cat <f; echo c &>>f; cat f; rm f; cat <nofile; echo $?; >e; [ -s e ] || echo empty; rm e`)
	add("heredoc",
		"x=5; cat <<E\nv $x $(echo sub) \\$x\nE\ncat <<'E'\nv $x\nE\ncat <<-E\n\ttab $x\n\t\ttwo\n\tE\n"+
			"read a b <<<\"1 2\"; echo $b")
	add("heredoc while",
		"while read -r a b; do echo \"$b-$a\"; done <<E\n1 2\n3 4 5\nE\n"+
			"echo a,b,c | while IFS=, read -r x y z; do echo $z$y$x; done")
	add("case", `for x in abc b1 '' 'a b'; do case $x in a*c) echo ac;; b[0-9]|q) echo b;& zz) echo fall;; "") echo empty;; *) echo other;; esac; done`)
	add("test", `[ a = a ] && echo 1; [ -n "" ] || echo 2; [ 3 -lt 10 ] && echo 3; [ ! -e /nope ] && echo 4; [[ abc == a* ]] && echo 5; [[ abc =~ ^a(.)c$ ]] && echo ${BASH_REMATCH[1]}; [[ -z $u && 2 -gt 1 ]] && echo 7; [ 1 -eq 1 -a 2 -eq 2 ] && echo 8; test x != y -o 1 = 2 && echo 9; [[ "a*" == "a*" ]] && echo 10; [[ b > a ]] && echo 11`)
	add("functions", `f() { local a=$1; echo "$a $# $*"; return 7; }; f x y; echo $?; a=out; g() { a=in; }; g; echo $a; h() { local a=loc; k; }; k() { echo $a; }; h; echo $a`)
	add("recursion", `fact() { if [ $1 -le 1 ]; then echo 1; else echo $(( $1 * $(fact $(($1-1))) )); fi; }; fact 6`)
	add("tail list", `ls /nope 2>/dev/null || env true && dirname yes/x`)
	add("params", `set -- a "b c" d; echo $# "$2" "${@:2}" "${*}"; shift; echo $1; for i; do echo "<$i>"; done; set -- ; echo $#; f() { echo "${1:-none}"; }; f; f x`)
	add("loops", `for i in 1 2 3 4; do [ $i = 2 ] && continue; [ $i = 4 ] && break; echo $i; done; for ((i=0;i<3;i++)); do echo -n $i; done; echo; i=0; while :; do ((++i>3)) && break; done; echo $i; for a in 1 2; do for b in 1 2; do [ $b = 2 ] && continue 2; echo $a$b; done; done; until [ $i = 0 ]; do i=$((i-1)); done; echo $i`)
	add("subshell", `x=1; (x=2; echo $x; exit 3); echo $? $x; y=$(x=5; echo $x); echo $y $x; cd /; (cd /tmp; pwd); pwd; umask 022; (umask 077; umask); umask`)
	add("eval source", `eval 'a=1; echo $a'; echo 'v=7; return 3; echo no' >lib; . ./lib; echo $? $v; source ./lib; rm lib; cmd="echo x"; $cmd`)
	add("source params", `echo 'echo "$1 $#"' >lib; set -- q; . ./lib; . ./lib a b; echo $1; rm lib`)
	add("not found", `nosuchcmd_x 2>/dev/null; echo $?; touch f; ./f 2>/dev/null; echo $?; rm f; /nope/x 2>/dev/null; echo $?; if ! nosuchcmd_x 2>/dev/null; then echo handled; fi`)
	add("not found text", `nosuchcmd_x 2>&1 | sed 's/^.*: line/line/'`)
	add("glob", `mkdir g; cd g; touch a.txt b.txt c.md .h; echo *.txt *; echo no*; shopt -s nullglob; echo no* end; echo [ab].txt ?.md; shopt -s dotglob; echo *; cd ..; rm -r g; shopt -s extglob
case abc in @(abc|d)) echo ext;; esac`)
	add("lists", `true && echo a || echo b; false && echo a || echo b; false || false || echo c; true; echo $?; { echo x; echo y; } | wc -l; ! false && echo neg`)
	add("exit codes", `(exit 256); echo $?; (exit -1); echo $?; bash -c 'exit 42'; echo $?; bash -c 'kill -9 $$'; echo $?; sh -c 'exit 3'; echo $?; f() { return 300; }; f; echo $?`)
	add("exec", `(exec dirname replaced/x; echo no); bash -c 'exec 2>/dev/null; ls /nope; echo $?'; (exec nosuch 2>/dev/null; echo no); echo $?`)
	add("ifs", `IFS=,; s=a,b,c; set -- $s; echo $2 $#; IFS=$'\n'; l=$'x y\nz'; set -- $l; echo $#; unset IFS; set -- $l; echo $#; a=(1 2 3); IFS=-; echo "${a[*]}"; join() { local IFS=$1; shift; echo "$*"; }; join + q w`)
	add("quoting", `echo "a\"b" 'c'\''d' $'tab\there' "x$(echo "in ner")y" "$(echo '$HOME')" \\ "\\n" a\ b; x='*'; echo "$x"; echo "a
b"`)
	add("comments and continuation",
		"echo a # comment\necho b \\\n  c\nif true; then # x\n echo d\nfi; : 'multi\nline'; echo e")
	add("process group", `setsid bash -c 'sleep 50 & sleep 50 & echo $$ >p; wait' & until [ -s p ]; do sleep 0.01; done; g=$(cat p); kill -TERM -- -$g; wait $!; echo $?; rm p`)
	add("timeout", `timeout 5 true; echo $?; timeout 0.05 sleep 10; echo $?; timeout 0.05 bash -c 'sleep 10; echo no'; echo $?; timeout -s KILL 0.05 sleep 9; echo $?; timeout 1 bash -c 'exit 3'; echo $?`)
	add("dev fd", `echo x >/dev/stdout; echo y | cat /dev/stdin; echo e 2>/dev/null >/dev/stderr; echo z | cat - ; cat /dev/null`)
	add("local ifs read loop", `out=; while IFS='=' read -r k v; do out+="$k:$v;"; done <<<$'a=1\nb=2=3'; echo "$out"`)
	add("nested functions status",
		`f() { g || return 5; }; g() { return 1; }; f; echo $?; h() { f && echo no; }; h; echo $?`)
	add("syntax error", `bash -c 'if then' 2>/dev/null; echo $?; bash -n -c 'echo hi'; echo $?`)
	add("brace group redirect", `{ echo 1; echo 2; } >f; while read -r x; do echo "got $x"; done <f; if true; then echo in; fi >f; cat f; for i in 1 2; do echo $i; done >>f; wc -l <f; rm f`)
	add("unset function var", `f() { echo f; }; unset -f f; f 2>/dev/null; echo $?; x=1; unset x; echo "[${x-unset}]"; g() { local y=1; unset y; echo "[${y-unset}]"; }; y=o; g`)
}

func init() { //nolint:gochecknoinits // a table in pieces
	add("awk", `printf 'a 1\nb 2\nc 3\n' >f; awk '{print $2}' f; awk '$2>1{s+=$2} END{print s}' f; awk -F: '{print $1}' <<<x:y; awk -v n=b '$1==n{print NR}' f; awk 'NR==2' f; awk '{gsub(/[0-9]/,"N")}1' f; awk 'BEGIN{printf "%s-%d\n","x",7}'; awk '/b/{f=1} f' f; awk '{print $NF, NF}' f; awk '!x{x=$1} END{print x; exit 3}' f; echo $?; rm f; awk '{ print > "o"; if (/2/) print "two", $1 >> "p" }' <<<$'1\n2'; cat o p; rm o p; awk 'END { exit !f }' </dev/null; echo $?`)
	add("retry idiom", `n=0; until [ $n -ge 3 ]; do n=$((n+1)); done; echo $n; retry() { local t; for t in 1 2 3; do "$@" && return 0; echo again; done; return 1; }; retry false; echo $?; retry true; echo $?`)
	add("put idiom", `put() { cat >t.new; if cmp -s t.new "$2"; then rm t.new; return 0; fi; install -m "$1" t.new "$2"; rm t.new; echo changed; }; printf 'x\n' | put 0600 t; printf 'x\n' | put 0600 t; cat t; stat -c %a t; rm t`)
	add("die idiom", `die() { printf 'error: %s\n' "$*" >&2; exit 1; }; out=$(die sub 2>&1) || echo "caught $out"; f() { [ "$1" = ok ] || die "bad $1"; echo fine; }; f ok; (f no) 2>&1; echo $?`)
	add("tee pipefail idiom", `set -euo pipefail; run() { "$@" 2>&1 | tee out; }; if run bash -c 'echo hi; exit 3'; then echo no; else echo "failed $?"; fi; cat out; rm out; rc=0; bash -c 'exit 5' || rc=$?; echo $rc`)
}

// TestLikeBash holds the simulated shell and programs to the real ones.
func TestLikeBash(t *testing.T) {
	t.Parallel()
	real, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("NO COMPARISON: there is no bash on this machine")
	}
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, 1)
			out, errs, status := run(t, s, "", "bash", "-c", script)

			dir := t.TempDir()
			cmd := exec.CommandContext(t.Context(), real, "-c", script)
			cmd.Dir = dir
			cmd.Env = []string{"HOME=/root", "PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
			cmd.Args[0] = "bash"
			var realOut, realErr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &realOut, &realErr
			_ = cmd.Run()
			clean := strings.NewReplacer(dir, "/tmp")
			require.Equal(t, clean.Replace(realOut.String()), out,
				"stdout; stderr of the real one:\n%s\nand of ours:\n%s", realErr.String(), errs)
			require.Equal(t, cmd.ProcessState.ExitCode(), status, "exit status; stderr: %s", errs)
			if name == "file errors" {
				require.Equal(t, clean.Replace(realErr.String()), errs)
			}
		})
	}
}
