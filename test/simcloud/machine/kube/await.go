package kube

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

// until polls until ready says yes or the timeout of the command line is over.
func (k *ctl) until(def time.Duration, ready func() (bool, error)) (bool, error) {
	timeout := def
	if t := k.f.get("timeout"); t != "" {
		d, err := time.ParseDuration(t)
		if err != nil {
			return false, fmt.Errorf("error: invalid argument %q for \"--timeout\" flag", t)
		}
		timeout = d
	}
	end := time.Now().Add(max(k.p.Sys.Clock.Real(timeout), 50*time.Millisecond))
	for {
		ok, err := ready()
		if ok || err != nil {
			return ok, err
		}
		if time.Now().After(end) {
			return false, nil
		}
		if !k.n.pause(k.ctx) {
			return false, exit(1)
		}
	}
}

func (k *ctl) wait(args []string) error {
	r, names, err := k.targets(args)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		objs, err := k.list(r, k.ns)
		if err != nil {
			return err
		}
		if len(objs) == 0 {
			return errors.New("error: no matching resources found")
		}
		for _, o := range objs {
			names = append(names, target{r, kubeapi.Name(o)})
		}
	}
	cond, value := k.f.get("for"), ""
	if c, ok := strings.CutPrefix(cond, "condition="); ok {
		cond, value, _ = strings.Cut(c, "=")
		if value == "" {
			value = "True"
		}
	}
	for _, t := range names {
		ok, err := k.until(30*time.Second, func() (bool, error) {
			o, err := k.call(http.MethodGet, k.path(t.res, k.ns, t.name), "", nil)
			switch {
			case err != nil && cond == "delete" && notFound(err):
				return true, nil
			case err != nil:
				return false, err
			case cond == "delete":
				return false, nil
			case strings.EqualFold(cond, "Available") && t.res.Kind == "Deployment":
				return kubeapi.Int(o, "status", "availableReplicas") >= kubeapi.Int(o, "spec", "replicas"), nil
			}
			return strings.EqualFold(conditionStatus(o, cond), value), nil
		})
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("error: timed out waiting for the condition on %s/%s", t.res.Plural, t.name)
		}
		word := "condition met"
		if cond == "delete" {
			word = "deleted"
		}
		k.p.Printf("%s/%s %s\n", typeName(t.res), t.name, word)
	}
	return nil
}

func (k *ctl) rollout(args []string) error {
	if len(args) < 2 {
		return errors.New("error: required resource not specified")
	}
	_, names, err := k.targets(args[1:])
	if err != nil {
		return err
	}
	for _, t := range names {
		if args[0] != "status" {
			k.p.Printf("%s/%s %sed\n", typeName(t.res), t.name, args[0])
			continue
		}
		ok, err := k.until(10*time.Minute, func() (bool, error) {
			o, err := k.call(http.MethodGet, k.path(t.res, k.ns, t.name), "", nil)
			if err != nil {
				return false, err
			}
			if t.res.Kind == "DaemonSet" {
				return kubeapi.Int(o, "status", "numberReady") >= kubeapi.Int(o, "status", "desiredNumberScheduled") && kubeapi.Int(o, "status", "desiredNumberScheduled") > 0, nil
			}
			return kubeapi.Int(o, "status", "readyReplicas") >= kubeapi.Int(o, "spec", "replicas"), nil
		})
		if err != nil {
			return err
		}
		if !ok {
			return errors.New("error: timed out waiting for the condition")
		}
		k.p.Printf("%s \"%s\" successfully rolled out\n", t.res.Singular, t.name)
	}
	return nil
}
