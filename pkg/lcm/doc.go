// Package lcm is the domain of Gybe: VNF instances, lifecycle operations and their state machine, the
// phases that operations consist of, and the interfaces through which the domain reaches the world.
//
// A request enters through Service, which refuses what cannot work and admits the rest in one
// transaction: the operation, its notification and its job exist together or not at all. A job is a
// tick: Runner claims the operation (which fences every earlier claim), runs phases until one has to
// wait for long, and commits. Phases are re-enterable; what must not be done twice is a Step, whose
// record survives any crash.
//
// Nothing here knows PostgreSQL, OpenStack or SSH. Of HTTP it knows the status codes of errors.
package lcm
