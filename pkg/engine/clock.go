package engine

import (
	"sync/atomic"
	"time"
)

// clock tells the database's time, so that a node whose clock is wrong does not put jobs off, or take them too early.
// It implements River's rivertype.TimeGenerator.
type clock struct{ offset atomic.Int64 }

// Now is the database's time as of the last heartbeat, with the monotonic reading of the machine.
func (c *clock) Now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

// NowOrNil lets queries take the time from the database.
func (c *clock) NowOrNil() *time.Time { return nil }

// measured takes a reading of the database's time, asked for between two readings of ours. Small offsets are noise.
func (c *clock) measured(before, database, after time.Time) {
	offset := database.Sub(before.Add(after.Sub(before) / 2))
	if offset.Abs() < 250*time.Millisecond {
		offset = 0
	}
	c.offset.Store(int64(offset))
}
