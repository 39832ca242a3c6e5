package subscriber

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// requested is a transport that remembers the requests that a node has accepted, and that cause notifications.
type requested struct {
	next http.RoundTripper

	mu         sync.Mutex
	instances  map[string][]string // the notifications about identifiers, by VNF instance
	operations map[string][]string // what was requested of a failed operation, in order, by operation occurrence
	packages   map[string][]string // the notifications about changes, by package with content
}

// RoundTrip implements http.RoundTripper.
func (q *requested) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := q.next.RoundTrip(r)
	if err != nil || resp.StatusCode >= http.StatusMultipleChoices || r.Method == http.MethodGet {
		return resp, err
	}
	// an interface, its version, the kind of resource, an identifier and below
	part := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(part) < 3 {
		return resp, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	switch part[0] + " " + part[2] {
	case "vnflcm vnf_instances":
		q.instance(r.Method, part[3:], resp)
	case "gybe adoptions":
		if resp.StatusCode == http.StatusCreated { // not a dry run
			q.instance(r.Method, part[3:], resp)
		}
	case "vnflcm vnf_lcm_op_occs":
		if len(part) == 5 && part[4] != "cancel" { // retry, rollback or fail; a cancelled operation only fails
			add(&q.operations, part[3], part[4])
		}
	case "vnfpkgm vnf_packages":
		if err := q.content(r.Method, part[3:], resp); err != nil {
			return nil, err
		}
	}
	return resp, nil
}

// instance remembers a request to VNF instances; below is the path behind them.
func (q *requested) instance(method string, below []string, resp *http.Response) {
	id := path.Base(resp.Header.Get("Location"))
	switch {
	case method == http.MethodPost && len(below) == 0:
		add(&q.instances, id, string(sol.NotificationVnfIdentifierCreation))
	case method == http.MethodDelete && len(below) == 1:
		add(&q.instances, below[0], string(sol.NotificationVnfIdentifierDeletion))
	case resp.StatusCode == http.StatusAccepted:
		add(&q.operations, id)
	}
}

// content remembers a request to packages; below is the path behind them.
func (q *requested) content(method string, below []string, resp *http.Response) error {
	switch {
	case len(below) > 1 && below[1] == "package_content":
		add(&q.packages, below[0])
	case method == http.MethodPatch && len(below) == 1:
		var change sol.VnfPkgInfoModifications
		raw, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		resp.Body = io.NopCloser(bytes.NewReader(raw))
		if err := json.Unmarshal(raw, &change); err != nil {
			return fmt.Errorf("decode what was changed in a package: %w", err)
		}
		if change.OperationalState != "" {
			add(&q.packages, below[0], changed(sol.PackageChangeOpState)+" "+string(change.OperationalState))
		}
	case method == http.MethodDelete && len(below) == 1:
		add(&q.packages, below[0], changed(sol.PackageChangeDelete))
	}
	return nil
}

func changed(t sol.PackageChangeType) string {
	return string(sol.NotificationPackageChange) + " " + string(t)
}

// add adds to the list of an identifier, which exists afterwards.
func add(lists *map[string][]string, id string, more ...string) {
	if *lists == nil {
		*lists = map[string][]string{}
	}
	(*lists)[id] = append((*lists)[id], more...)
}

// expected lists the notifications that must arrive, in order, as notification.text, by what they are about.
func (s *Subscriber) expected(ctx context.Context) (map[string][]string, error) {
	q := &s.requested
	q.mu.Lock()
	want := map[string][]string{}
	operations, contents := map[string][]string{}, map[string][]string{}
	for id, list := range q.instances {
		want[id] = slices.Clone(list)
	}
	for id, list := range q.operations {
		operations[id] = slices.Clone(list)
	}
	for id, list := range q.packages {
		contents[id] = slices.Clone(list)
	}
	q.mu.Unlock()
	for id, decisions := range operations {
		o, err := s.api.Operation(ctx, id)
		if err != nil {
			return nil, err
		}
		for _, state := range passed(decisions, o) {
			want[id] = append(want[id], reported(state))
		}
	}
	for id, changes := range contents {
		onboarded := len(changes) > 1 || len(changes) == 1 && changes[0] != changed(sol.PackageChangeDelete)
		if !onboarded {
			p, err := s.api.Package(ctx, id)
			if gone := (*client.Error)(nil); errors.As(err, &gone) && gone.Status() == http.StatusNotFound {
				continue // its content was refused, and it was deleted
			} else if err != nil {
				return nil, err
			}
			onboarded = p.OnboardingState == sol.PackageOnboardingStateOnboarded
		}
		if onboarded {
			want[id] = append([]string{string(sol.NotificationPackageOnboarding)}, changes...)
		}
	}
	if len(want) == 0 {
		return nil, errors.New("the test has requested nothing that is reported")
	}
	return want, nil
}

// passed lists the states of an operation occurrence (SOL003 clause 5.6.2) from what was requested each time that it
// had failed, and the state in which it is.
func passed(decisions []string, o *sol.VnfLcmOpOcc) []sol.LcmOperationStateType {
	states := []sol.LcmOperationStateType{sol.LcmOperationStateStarting, sol.LcmOperationStateProcessing}
	switch {
	case o.Operation == sol.LcmOperationModifyInfo:
		states = states[1:] // it needs no grant
	case len(decisions) == 0 && o.OperationState == sol.LcmOperationStateRolledBack:
		return []sol.LcmOperationStateType{sol.LcmOperationStateStarting, o.OperationState} // it got no grant
	}
	for _, d := range decisions {
		states = append(states, sol.LcmOperationStateFailedTemp)
		switch d {
		case "retry":
			states = append(states, sol.LcmOperationStateProcessing)
		case "rollback":
			states = append(states, sol.LcmOperationStateRollingBack)
		case "fail": // FAILED is its last state
		}
	}
	return append(states, o.OperationState)
}

// reported is the notification of a state of an operation occurrence (SOL003 clause 5.5.2.17): the status RESULT is for
// final and intermediate results.
func reported(state sol.LcmOperationStateType) string {
	status := sol.NotificationStatusResult
	switch state {
	case sol.LcmOperationStateStarting, sol.LcmOperationStateProcessing, sol.LcmOperationStateRollingBack:
		status = sol.NotificationStatusStart
	case sol.LcmOperationStateCompleted, sol.LcmOperationStateFailedTemp, sol.LcmOperationStateFailed,
		sol.LcmOperationStateRolledBack:
	}
	return strings.Join([]string{string(sol.NotificationVnfLcmOperationOccurrence), string(status), string(state)}, " ")
}

// differences compares the notifications that must arrive with those that have. Other ones are not looked at: the
// test may have caused them without s.
func differences(want map[string][]string, got map[string][]notification) []string {
	var out []string
	ids := map[string]map[string][]string{} // by the path of the callback, and what they are about
	texts := map[string]map[string][]string{}
	for callback, list := range got {
		ids[callback], texts[callback] = map[string][]string{}, map[string][]string{}
		for _, n := range list {
			if n.Operation != "" && callback != "/"+strings.ToLower(string(n.Verbosity)) {
				out = append(out, fmt.Sprintf("%s has got the verbosity %q", callback, n.Verbosity))
			}
			id := n.about()
			ids[callback][id] = append(ids[callback][id], n.ID)
			texts[callback][id] = append(texts[callback][id], n.text())
		}
	}
	for id, list := range want {
		callbacks := []string{full, short}
		if strings.HasPrefix(list[0], string(sol.NotificationPackageOnboarding)) {
			callbacks = []string{packages}
		}
		for _, callback := range callbacks {
			if has := texts[callback][id]; !slices.Equal(has, list) {
				out = append(out, fmt.Sprintf("%s: about %s there are %q, and must be %q", callback, id, has, list))
			}
		}
		if !slices.Equal(ids[full][id], ids[short][id]) {
			out = append(out, fmt.Sprintf("about %s: the identifiers differ between the subscriptions", id))
		}
	}
	slices.Sort(out)
	return out
}
