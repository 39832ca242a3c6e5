package stack

import (
	"regexp"
	"slices"
	"time"

	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
)

// Attempt is the checkpoint of a step that works on the instance's stack. It is durable before each request to Heat, so
// that a step can be left at any point: the next tick observes the stack and finds out what became of the request.
type Attempt struct {
	// Try is the operation's try that the attempt belongs to: a failure of an earlier one does not count.
	Try int `json:"try,omitempty"`
	// Since is when the last request was sent, or the step began; it sets the pace of observations.
	Since time.Time `json:"since,omitzero"`

	// Token is the tag that the stack carries as soon as Heat has accepted the update: it shows that the update was
	// sent. A creation has one when the stack is repaired by an update.
	Token string `json:"token,omitempty"`
	// Resent is set before an update is sent again, because the stack does not show it: Heat may have got it twice.
	Resent bool `json:"twice,omitempty"`
	// Stopped is set when the update is sent again, because a stop of an earlier try reached it.
	Stopped bool `json:"stopped,omitempty"`
	// Zones are those that were chosen because the granted ones had no room.
	Zones Zones `json:"zones,omitzero"`

	// ID is that of the created stack; it is recorded as soon as Heat has said it.
	ID string `json:"id,omitempty"`
	// Doomed is the id of a stack that has the name and is deleted before the creation.
	Doomed string `json:"doomed,omitempty"`
	// Deletes counts how often its deletion has failed.
	Deletes int `json:"deletes,omitempty"`

	// Deletions counts the deletions that Heat was asked for.
	Deletions int `json:"tries,omitempty"`

	// Asked says that Heat was asked to stop, Refused that it has refused.
	Asked   bool `json:"asked,omitempty"`
	Refused bool `json:"refused,omitempty"`
}

// sentTo says whether the update of the attempt has reached a stack.
func (a Attempt) sentTo(st *cloud.Stack) bool {
	return a.Token != "" && slices.Contains(st.Tags, a.Token)
}

// purpose is what a step wants of the stack.
type purpose int

const (
	create purpose = iota + 1
	update
	remove
	halt
)

// situation is what next decides on, beside the stacks, the attempt and the time.
type situation struct {
	purpose purpose
	try     int // of the operation
	// instance and operation are the tags by which a stack shows whose it is.
	instance, operation string
	timeout             time.Duration // of one request to Heat
	forced              bool          // a FORCEFUL cancel
	signals             bool          // the operation may have sent signals to groups
}

// action is what a step does next.
type action int

const (
	waitBusy      action = iota + 1 // Heat works on the stack
	waitUnlisted                    // the list of stacks may lag behind
	waitDeleted                     // the stack that has the name is being deleted
	waitPause                       // whatever holds a resource may need a moment
	waitSignal                      // Heat may be about to obey a signal
	waitNested                      // a stopped stack may go on in the stacks nested in it
	finish                          // the stack is as the step wants it
	leave                           // the stack cannot be stopped, and is left as it is
	start                           // create the stack
	adopt                           // record the id of a stack that a node has created which died, and decide again
	replace                         // delete the stack that has the name
	send                            // a new attempt, with a token of its own
	resend                          // the same attempt once more
	sendStopped                     // a new attempt, because a stop of an earlier try has reached this one
	handleFailure                   // the attempt has failed: choose other zones, or fail
	deleteAll                       // ask for the deletion
	stop                            // ask Heat to leave the stack as it is
	deleteHalf                      // a Heat that cannot leave a stack half created can delete it
	failStuck                       // Heat has forgotten the stack
	failGone                        // the stack was deleted while it was being created
	failForeign                     // a stack of another owner has the name
	failDelete                      // Heat cannot delete the stack
)

// Limits of what next waits for.
const (
	// unlisted is how long Heat's list may lack a stack that Heat has just accepted, where its API has several
	// databases.
	unlisted = 3 * time.Second
	// maxDeletes is how often a stack whose deletion fails is deleted again before the failure is reported.
	maxDeletes = 3
	// DeletePause is the wait before a failed deletion is asked for again, times the number of tries.
	DeletePause = 500 * time.Millisecond
	// Overrun is how much longer than its own limit Heat may be busy before it is believed to have forgotten the stack,
	// as it does when its engine dies.
	Overrun = 5 * time.Minute
	// SignalRest is how long a group rests between signals: Heat goes on ignoring them for a moment after it is done.
	SignalRest = 2 * time.Second
)

// cancelledUpdate is what Heat says of an update of a nested stack that another update of the stack around it has
// overtaken.
var cancelledUpdate = regexp.MustCompile(`(?i)update cancelled`)

// view is the observed state in the terms of the table.
type view struct {
	situation
	Attempt
	stacks []cloud.Stack
	st     *cloud.Stack // the first of stacks; nil when it does not exist
	now    time.Time

	newTry, sent, stuck bool
}

func viewOf(stacks []cloud.Stack, a Attempt, now time.Time, s situation) view {
	v := view{situation: s, Attempt: a, stacks: stacks, now: now, newTry: a.Try != s.try}
	if len(stacks) > 0 {
		v.st = &stacks[0]
		v.sent = a.sentTo(v.st)
		v.stuck = v.st.InProgress() && !a.Since.IsZero() && now.Sub(a.Since) > s.timeout+Overrun
	}
	return v
}

// overtaken says whether the stack has failed only because Heat had the same update twice: the second cancels what the
// first does in nested stacks, which now and then is taken for a failure of the second. One more update finds nothing
// under way.
func (v view) overtaken() bool {
	return v.Resent && v.st.Failed() && cancelledUpdate.MatchString(v.st.Reason)
}

// stoppedLate says whether the stack has failed only because of a stop that an earlier try asked for: Heat passes it on
// to nested stacks by messages, and one that is late stops the update of the retry, which the user has not cancelled.
// The update is sent again once. If it is cancelled again, another client does that, and the failure is reported.
func (v view) stoppedLate() bool {
	return v.try > 1 && !v.newTry && !v.Stopped && v.st.Failed() && cancelledUpdate.MatchString(v.st.Reason)
}

// forgotten says whether Heat is asked again for a deletion although it says that it deletes: an engine that died
// leaves the stack as it is, and no other one goes on with it. That is when the user has retried, or after longer than
// Heat takes for anything.
func (v view) forgotten() bool {
	return v.Deletions > 0 && (v.newTry || v.now.Sub(v.Since) > v.timeout+Overrun)
}

// deletePause is how long to wait before the deletion is asked for again.
func (v view) deletePause() time.Duration {
	if v.newTry {
		return 0
	}
	return v.Since.Add(time.Duration(v.Deletions) * DeletePause).Sub(v.now)
}

// has says whether a stack has a status.
func (v view) has(status string) bool {
	return slices.ContainsFunc(v.stacks, func(s cloud.Stack) bool { return s.Status == status })
}

func (v view) allDeleting() bool {
	return !slices.ContainsFunc(v.stacks, func(s cloud.Stack) bool { return !s.Deleting() })
}

// row is one row of the table: what a step does in a situation.
type row struct {
	purpose purpose
	name    string
	when    func(view) bool
	do      action
}

// next decides what a step does, from what it observes: the stacks, its attempt and the time. It changes nothing and
// asks for nothing. The first row that applies counts:
//
//	purpose  stack                                  attempt                     does
//	create   -                                      not begun                   start
//	create   none                                   created less than 3 s ago   waitUnlisted
//	create   none                                   created                     failGone
//	create   none                                   -, or of an earlier try     start
//	create   without the instance's tag             any                         failForeign
//	create   DELETE_IN_PROGRESS                     any                         waitDeleted
//	create   of an earlier operation, or doomed     any                         replace
//	create   of this operation                      id not recorded             adopt
//	create   IN_PROGRESS > timeout + 5 min          of this try                 failStuck
//	create   IN_PROGRESS > timeout + 5 min          of an earlier try           send
//	create   IN_PROGRESS                            any                         waitBusy
//	create   COMPLETE                               any                         finish
//	create   failed, not DELETE_FAILED              of an earlier try, no token send
//	create   failed                                 of an earlier try           replace
//	create   failed                                 token not on the stack      resend
//	create   FAILED "update cancelled"              sent in a retry             sendStopped
//	create   failed                                 of this try                 handleFailure
//	update   IN_PROGRESS > timeout + 5 min          sent in this try            failStuck
//	update   IN_PROGRESS > timeout + 5 min          sent in an earlier try      send
//	update   IN_PROGRESS                            any                         waitBusy
//	update   COMPLETE                               sent                        finish
//	update   any                                    not begun, or earlier try   send
//	update   FAILED "update cancelled"              sent, after a resend        send
//	update   FAILED "update cancelled"              sent in a retry             sendStopped
//	update   FAILED                                 sent                        handleFailure
//	update   at rest                                not sent                    resend
//	delete   none                                   any                         finish
//	delete   all DELETE_IN_PROGRESS                 asked for in this try       waitBusy
//	delete   any DELETE_FAILED                      asked for three times       failDelete
//	delete   any                                    asked for a moment ago      waitPause
//	delete   any                                    any                         deleteAll
//	halt     none                                   any                         finish
//	halt     at rest, scaled by signals             for less than 2 s           waitSignal
//	halt     at rest                                not asked                   finish
//	halt     at rest                                asked                       waitNested
//	halt     DELETE_IN_PROGRESS, forced             any                         leave
//	halt     neither created nor updated            any                         waitBusy
//	halt     IN_PROGRESS, not forced                any                         waitBusy
//	halt     IN_PROGRESS                            not asked                   stop
//	halt     CREATE_IN_PROGRESS                     refused                     deleteHalf
//	halt     IN_PROGRESS                            asked                       waitBusy
func next(stacks []cloud.Stack, a Attempt, now time.Time, s situation) action {
	v := viewOf(stacks, a, now, s)
	for _, r := range table {
		if r.purpose == s.purpose && r.when(v) {
			return r.do
		}
	}
	return waitBusy
}
