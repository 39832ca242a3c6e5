package coreutils

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

func parseDate(t string, now time.Time) (time.Time, bool) {
	if rest, ok := strings.CutPrefix(t, "@"); ok {
		n, err := strconv.ParseFloat(rest, 64)
		return time.Unix(0, int64(n*1e9)).UTC(), err == nil
	}
	switch t {
	case "now", "":
		return now, true
	case "today":
		return now, true
	case "yesterday":
		return now.AddDate(0, 0, -1), true
	case "tomorrow":
		return now.AddDate(0, 0, 1), true
	}
	for _, l := range []string{
		time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02", time.UnixDate, time.RFC1123Z,
		time.RFC1123, "Jan _2 15:04:05 2006 MST", "2006-01-02 15:04:05 MST", "Mon Jan _2 15:04:05 2006",
	} {
		if v, err := time.Parse(l, t); err == nil {
			return v, true
		}
	}
	f := strings.Fields(strings.TrimPrefix(strings.TrimSuffix(t, " ago"), "+"))
	if len(f) == 2 {
		var n int
		if _, err := fmt.Sscanf(f[0], "%d", &n); err == nil {
			if strings.HasSuffix(t, " ago") {
				n = -n
			}
			unit := map[string]time.Duration{
				"sec": time.Second, "second": time.Second, "min": time.Minute, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour,
				"week": 7 * 24 * time.Hour,
			}[strings.TrimSuffix(f[1], "s")]
			if unit != 0 {
				return now.Add(time.Duration(n) * unit), true
			}
		}
	}
	return time.Time{}, false
}
