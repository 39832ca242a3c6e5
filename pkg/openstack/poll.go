package openstack

import "time"

// pace says how long to wait before the next look at something that has been under way for this long: at first quick things are seen
// at once, later the VIM is left in peace.
func pace(elapsed time.Duration) time.Duration {
	for _, step := range []struct{ until, wait time.Duration }{
		{60 * time.Millisecond, 20 * time.Millisecond},
		{250 * time.Millisecond, 50 * time.Millisecond},
		{time.Second, 100 * time.Millisecond},
		{3 * time.Second, 200 * time.Millisecond},
		{10 * time.Second, 400 * time.Millisecond},
		{30 * time.Second, time.Second},
		{2 * time.Minute, 2 * time.Second},
	} {
		if elapsed < step.until {
			return step.wait
		}
	}
	return 5 * time.Second
}
