package stack

import "slices"

// table has the rows of next. Several rows of its comment may be one row here where the order says the same.
var table = slices.Concat(creation, updating, deletion, halting)

var creation = []row{
	{create, "not begun", func(v view) bool { return v.Since.IsZero() && v.Try == 0 }, start},
	{create, "not listed yet", func(v view) bool {
		return v.st == nil && v.ID != "" && !v.newTry && v.now.Sub(v.Since) < unlisted
	}, waitUnlisted},
	{create, "vanished", func(v view) bool { return v.st == nil && v.ID != "" && !v.newTry }, failGone},
	{create, "no stack", func(v view) bool { return v.st == nil }, start},
	{create, "of another owner", func(v view) bool { return !slices.Contains(v.st.Tags, v.instance) }, failForeign},
	{create, "previous stack is being deleted", func(v view) bool { return v.st.Deleting() }, waitDeleted},
	{create, "of an earlier operation", func(v view) bool {
		return !slices.Contains(v.st.Tags, v.operation) || v.st.ID == v.Doomed
	}, replace},
	{create, "id not recorded", func(v view) bool { return v.ID != v.st.ID }, adopt},
	{create, "stuck in this try", func(v view) bool { return v.stuck && !v.newTry }, failStuck},
	{create, "stuck in an earlier try", func(v view) bool { return v.stuck }, send},
	{create, "in progress", func(v view) bool { return v.st.InProgress() }, waitBusy},
	{create, "complete", func(v view) bool { return v.st.Complete() }, finish},
	{create, "failed in an earlier try", func(v view) bool {
		return v.newTry && v.Token == "" && v.st.Status != "DELETE_FAILED"
	}, send},
	{create, "repaired without effect in an earlier try", func(v view) bool { return v.newTry }, replace},
	{create, "repair not sent", func(v view) bool { return v.Token != "" && !v.sent }, resend},
	{create, "repair stopped by an earlier try", func(v view) bool { return v.sent && v.stoppedLate() }, sendStopped},
	{create, "failed", func(view) bool { return true }, handleFailure},
}

var updating = []row{
	{update, "stuck in this try", func(v view) bool { return v.sent && v.stuck && !v.newTry }, failStuck},
	{update, "in progress", func(v view) bool { return v.st.InProgress() && (!v.sent || !v.stuck) }, waitBusy},
	{update, "complete", func(v view) bool { return v.sent && v.st.Complete() }, finish},
	{update, "not begun in this try", func(v view) bool { return v.newTry }, send},
	{update, "overtaken", func(v view) bool { return v.sent && v.overtaken() }, send},
	{update, "stopped by an earlier try", func(v view) bool { return v.sent && v.stoppedLate() }, sendStopped},
	{update, "failed", func(v view) bool { return v.sent }, handleFailure},
	{update, "not sent", func(view) bool { return true }, resend},
}

var deletion = []row{
	{remove, "no stack", func(v view) bool { return v.st == nil }, finish},
	{remove, "in progress", func(v view) bool { return v.allDeleting() && !v.forgotten() }, waitBusy},
	{remove, "failed too often", func(v view) bool {
		return !v.newTry && v.Deletions >= maxDeletes && v.has("DELETE_FAILED")
	}, failDelete},
	{remove, "asked for a moment ago", func(v view) bool { return v.deletePause() > 0 }, waitPause},
	{remove, "to be deleted", func(view) bool { return true }, deleteAll},
}

var halting = []row{
	{halt, "no stack", func(v view) bool { return v.st == nil }, finish},
	{halt, "signalled a moment ago", func(v view) bool {
		return v.signals && !v.st.InProgress() && v.now.Sub(v.Since) < SignalRest
	}, waitSignal},
	{halt, "at rest", func(v view) bool { return !v.st.InProgress() && !v.Asked }, finish},
	{halt, "stopped", func(v view) bool { return !v.st.InProgress() }, waitNested},
	{halt, "being deleted", func(v view) bool { return v.forced && v.st.Deleting() }, leave},
	{halt, "cannot be stopped", func(v view) bool {
		return !v.forced || v.st.Status != "CREATE_IN_PROGRESS" && v.st.Status != "UPDATE_IN_PROGRESS"
	}, waitBusy},
	{halt, "not asked", func(v view) bool { return !v.Asked }, stop},
	{halt, "creation cannot be stopped", func(v view) bool {
		return v.Refused && v.st.Status == "CREATE_IN_PROGRESS"
	}, deleteHalf},
	{halt, "stopping", func(view) bool { return true }, waitBusy},
}
