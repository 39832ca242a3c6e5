package k8scluster

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
)

// nodeError turns a failure of package remote into the product's error, in words about the node.
func nodeError(n node, doing string, err error) error {
	if exit, ok := errors.AsType[*remote.ExitError](err); ok { // kubeadm's last line says nothing
		exit.Stderr = slices.DeleteFunc(
			exit.Stderr, func(line string) bool { return strings.Contains(line, "stack trace of this error") },
		)
	}
	e := &lcm.Error{
		Code: lcm.CodeUpstream, Title: "Node failed", Cause: err,
		Detail: fmt.Sprintf("%s at %s: %v", n.during(doing), n.target, cause(err)),
	}
	switch kind := remote.KindOf(err); kind {
	case remote.KindAuth:
		e.Class = lcm.Auth
		e.Hint = n.hint(kind)
	case remote.KindHostKey:
		e.Hint = n.hint(kind)
	case remote.KindTimeout, remote.KindUnreachable, remote.KindRefused:
		e.Code, e.Class = lcm.CodeUnavailable, lcm.Transient
		e.Hint = n.hint(kind)
	case remote.KindClosed:
		e.Code, e.Class = lcm.CodeUnavailable, lcm.Transient
	case remote.KindExit, remote.KindFile, remote.KindProtocol:
	default: // the context ended, the store failed: not the node's
		return err
	}
	return e
}

// hint says what to do when a machine cannot be used over SSH.
func (n node) hint(kind remote.Kind) string {
	forget := "let its key be forgotten: gybe vnf ssh-hosts INSTANCE --forget " + n.target.VNFC +
		"; if not, find out which machine answers at this address"
	switch {
	case kind == remote.KindHostKey && n.role == roleAnsible:
		return "if the Ansible host was rebuilt on purpose, " + forget
	case kind == remote.KindHostKey:
		return "if the machine was rebuilt on purpose, " + forget
	case kind == remote.KindAuth && n.role == roleAnsible:
		return "check username, password or private_key in " + ParamKey + ".ansible; scale and heal requests may " +
			"give others"
	case kind == remote.KindAuth && n.role == roleBalancer:
		return "check ssh_username, ssh_password or ssh_private_key in " + ParamKey + ".external_lb_param; the " +
			"image must allow this way of logging in"
	case kind == remote.KindAuth:
		return "check username, password or private_key of the node in " + ParamKey +
			"; the image must allow this way of logging in"
	case n.role == roleAnsible:
		return "check that the Ansible host runs, that ip_address in " + ParamKey + ".ansible is its address, and " +
			"that the VNFM can reach its SSH port; scale and heal requests may name another host"
	}
	return "check that the machine has booted, and that routers, floating IPs and security groups let the VNFM " +
		"reach its SSH port"
}

// cause leaves out what nodeError says itself.
func cause(err error) error {
	if e, ok := errors.AsType[*remote.Error](err); ok {
		return e.Err
	}
	return err
}

// tempFail is the exit status (EX_TEMPFAIL) by which the script says that the same run may succeed later.
const tempFail = 75

// scriptError is the failure of the installation script.
func scriptError(n node, doing string, code int, words []string) error {
	why := fmt.Sprintf("exit status %d", code)
	if len(words) > 0 {
		why = words[len(words)-1] + fmt.Sprintf(" (exit status %d)", code)
	}
	e := &lcm.Error{
		Code: lcm.CodeUpstream, Title: "Node installation failed",
		Detail: fmt.Sprintf("%s: %s", n.during(doing), why),
		Hint: "the log of the step has the script's output; remove the cause and retry the operation, it goes on " +
			"where it failed",
	}
	if code == tempFail {
		e.Class = lcm.Transient
	}
	return e
}

var (
	labelled  = regexp.MustCompile(`(?i)\b(token|certificate_key|bearer_token)(\s*[:=]\s*)\S*[0-9.]\S*`)
	password  = regexp.MustCompile(`(?i)\b(password|passwd)(\s*[:=]\s*)\S+`)
	joinToken = regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`)
	certKey   = regexp.MustCompile(`(--certificate-key[= ]+)[0-9a-f]+`)
	longHex   = regexp.MustCompile(`(sha256:)?\b[0-9a-f]{64}\b`) // a certificate key, unless it is said to be a digest
	jwt       = regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+`)
)

// mask hides what a script, which may be the user's own, should not have printed.
func mask(line string, secrets []string) string {
	for _, s := range secrets {
		if len(s) >= 6 { // hiding a short password everywhere would hide the log
			line = strings.ReplaceAll(line, s, "***")
		}
	}
	line = labelled.ReplaceAllString(line, "$1$2***")
	line = password.ReplaceAllString(line, "$1$2***")
	line = joinToken.ReplaceAllString(line, "***")
	line = certKey.ReplaceAllString(line, "$1***")
	line = jwt.ReplaceAllString(line, "***")
	return longHex.ReplaceAllStringFunc(line, func(hex string) string {
		if strings.HasPrefix(hex, "sha256:") {
			return hex
		}
		return "***"
	})
}
