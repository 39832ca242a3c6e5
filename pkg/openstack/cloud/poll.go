package cloud

import "time"

// The waits between looks at what is under way.
const (
	firstLook  = 5 * time.Millisecond   // what is done at once is seen at once
	secondLook = 100 * time.Millisecond // and so is what follows it closely
	thirdLook  = 250 * time.Millisecond
	ShortLook  = time.Second
	longLook   = 2500 * time.Millisecond
	rareLook   = 4 * time.Second
)

// Pace says how long to wait before the next look at something that has been under way for this long. There are three
// looks in the first 400 ms, because a short action would otherwise be seen late. The next ones are after one second
// and after three, then every 2.5 s, and finally after an eighth of the time under way, at most 4 s.
func Pace(elapsed time.Duration) time.Duration {
	switch {
	case elapsed < firstLook:
		return firstLook
	case elapsed < secondLook/2:
		return secondLook
	case elapsed < thirdLook:
		return thirdLook
	}
	return min(max(min(2*elapsed, longLook), elapsed/8), rareLook)
}
