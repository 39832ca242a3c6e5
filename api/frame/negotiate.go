package frame

import (
	"mime"
	"slices"
	"strconv"
	"strings"
)

// accepts says whether an Accept header allows one of the media types; an absent header allows all.
func accepts(header, offers []string) bool {
	_, ok := Preferred(header, offers)
	return ok
}

// Preferred returns which of the offered media types an Accept header wants most (RFC 9110 clause
// 12.5.1); of equals the first offer. false means that none is acceptable.
func Preferred(header, offers []string) (string, bool) {
	joined := strings.TrimSpace(strings.Join(header, ","))
	if joined == "" {
		return offers[0], true
	}
	best, bestQ := "", 0.0
	for _, offer := range offers {
		if q := quality(joined, offer); q > bestQ {
			best, bestQ = offer, q
		}
	}
	return best, bestQ > 0
}

// quality is the weight of an offer: that of the most specific range that matches it.
func quality(header, offer string) float64 {
	kind, _, _ := strings.Cut(offer, "/")
	found, q := -1, 0.0
	for part := range strings.SplitSeq(header, ",") {
		media, params, _ := strings.Cut(part, ";")
		media = strings.ToLower(strings.TrimSpace(media))
		rank := -1
		switch media {
		case offer:
			rank = 2
		case kind + "/*":
			rank = 1
		case "*/*":
			rank = 0
		}
		if rank > found {
			found, q = rank, weight(params)
		}
	}
	return q
}

// weight reads the q parameter; without one, or with one that makes no sense, it is 1.
func weight(params string) float64 {
	for p := range strings.SplitSeq(params, ";") {
		name, value, ok := strings.Cut(strings.TrimSpace(p), "=")
		if !ok || !strings.EqualFold(name, "q") {
			continue
		}
		if q, err := strconv.ParseFloat(value, 64); err == nil && q >= 0 && q <= 1 {
			return q
		}
	}
	return 1
}

// consumes says whether a Content-Type is one of the media types; text has to be UTF-8. A body without a Content-Type
// is rejected: a web page of another site can make browsers send one without asking the server before.
func consumes(header string, wanted []string) bool {
	media, params, err := mime.ParseMediaType(header)
	if err != nil {
		return false
	}
	if c, ok := params["charset"]; ok && !strings.EqualFold(c, "utf-8") && !strings.EqualFold(c, "us-ascii") {
		return false
	}
	return slices.Contains(wanted, media)
}
