package cloud

import "time"

// The waits between looks at what is under way.
const (
	firstLook  = 5 * time.Millisecond   // what is done at once is seen at once
	secondLook = 100 * time.Millisecond // and so is what follows it closely
	ShortLook  = time.Second
	longLook   = 2200 * time.Millisecond
	rareLook   = 4 * time.Second
)

// Pace says how long to wait before the next look at something that has been under way for this long: a second at
// first, then 2.2 s, so that a server is seen little more than a second after it is ready, whenever that is, and later
// an eighth of that time, at most 4 s.
func Pace(elapsed time.Duration) time.Duration {
	switch {
	case elapsed < firstLook:
		return firstLook
	case elapsed < secondLook/2:
		return secondLook
	}
	return min(max(min(ShortLook+elapsed*9/10, longLook), elapsed/8), rareLook)
}
