package kubernetes

import (
	"errors"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// REST returns the client's connection for requests about objects of any kind.
func (c *Client) REST() rest.Interface { return c.rest }

// Explain returns the error of a request made with REST; task says what failed and on which object. In addition to the
// errors of the other methods: CodeConflict with the API server's causes for a conflict, the class Quota for an
// exhausted quota, and RetryAfter for a server that asks to wait.
func (c *Client) Explain(task string, err error) error {
	out := c.requestError(task, err)
	if out == nil {
		return nil
	}
	e := lcm.AsError(out)
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return e
	}
	s := status.Status()
	if d := s.Details; d != nil {
		e.RetryAfter = time.Duration(d.RetryAfterSeconds) * time.Second
	}
	switch {
	case apierrors.IsConflict(err):
		e.Code = lcm.CodeConflict
		if apierrors.HasStatusCause(err, "FieldManagerConflict") {
			e.Class = lcm.Permanent
			e.Hint = "another program manages the fields; remove them from the manifest"
		}
	case apierrors.IsForbidden(err) && strings.Contains(s.Message, "exceeded quota"):
		e.Class, e.Hint = lcm.Quota, "raise the quota of the namespace, or delete objects in it"
	}
	return e
}
