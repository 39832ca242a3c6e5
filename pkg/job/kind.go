// Package job describes kinds of jobs: the rows of a table that must have a job while they are in certain states. The
// store adds jobs of a kind, and the engine runs them.
package job

// Kind describes a kind of jobs.
type Kind struct {
	// Name is the kind's name in the database.
	Name string
	// Queue is the name of the queue. Jobs of one queue wait for each other when all its workers are busy.
	Queue string
	// Urgent is the name of a second queue with its own workers, for jobs that must not wait; "" when there is none.
	Urgent string
	// Share is the SQL expression of the limits that a row's job is subject to, "<VIM>/<project>"; the table's alias is
	// t. It is the second part of the names of queues: the jobs of a VIM in a project wait for each other only. "" when
	// there are no limits.
	Share string
	// Arg is the name of the row's id in the arguments of a job.
	Arg string
	// Table has the rows. Its columns id and job_id are a row's id and the only job that may work on the row.
	Table string
	// Due is the SQL condition of the rows that must have a job; the table's alias is t.
	Due string
}

// QueueOf is the SQL expression of the queue of a row's job.
func (k Kind) QueueOf(urgent bool) string {
	name := k.Queue
	if urgent && k.Urgent != "" {
		name = k.Urgent
	}
	if k.Share == "" {
		return "'" + name + "'"
	}
	return "'" + name + "/' || " + k.Share
}
