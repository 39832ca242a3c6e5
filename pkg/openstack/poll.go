package openstack

import "time"

// pace says how long to wait before the next look at something that has been under way for this long: half of that time, so that quick
// things are seen at once and slow ones cost the VIM little, within limits that grow.
func pace(elapsed time.Duration) time.Duration {
	longest := 5 * time.Second
	switch {
	case elapsed < 3*time.Second:
		longest = 400 * time.Millisecond
	case elapsed < 30*time.Second:
		longest = time.Second
	case elapsed < 2*time.Minute:
		longest = 2 * time.Second
	}
	return min(max(elapsed/2, 5*time.Millisecond), longest)
}
