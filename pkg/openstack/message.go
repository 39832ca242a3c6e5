package openstack

import (
	"encoding/json"
	"html"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxText bounds what a service's own words may add to an error, in bytes.
const maxText = 1000

var (
	title     = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)
	invisible = regexp.MustCompile(`(?is)<(script|style|head)\b.*?</(script|style|head)>`)
	tag       = regexp.MustCompile(`(?s)<[^>]*>`)
)

// message finds a service's own words in the body of an error answer:
//
//	Keystone, Heat  {"error": {"message": …}}, Heat with "explanation" beside it
//	Nova, Cinder    {"<fault>": {"message": …, "code": …}}
//	Neutron         {"NeutronError": {"type": …, "message": …, "detail": …}}
//	Glance, pecan   {"message": …} or {"faultstring": …}
//	proxies         HTML
func message(body []byte, contentType string) string {
	text := strings.TrimSpace(string(body))
	if text == "" {
		return ""
	}
	var doc any
	if json.Unmarshal([]byte(text), &doc) == nil {
		if m := words(doc); m != "" {
			return tidy(m)
		}
	}
	if strings.Contains(contentType, "html") || strings.HasPrefix(text, "<") {
		body := tidy(invisible.ReplaceAllString(text, " "))
		if m := title.FindStringSubmatch(text); m != nil && !strings.HasPrefix(body, tidy(m[1])) {
			body = clip(strings.TrimSuffix(tidy(m[1])+": "+body, ": "), maxText)
		}
		return body
	}
	return tidy(text)
}

// words searches an error document for its message.
func words(doc any) string {
	switch v := doc.(type) {
	case string:
		return v
	case map[string]any:
		inner, _ := v["error"].(map[string]any)
		for _, m := range []any{inner["message"], v["message"], v["faultstring"], v["explanation"], v["error"], v["detail"]} {
			if s, ok := m.(string); ok && s != "" {
				return s
			}
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if m, ok := v[k].(map[string]any); ok {
				if s := words(m); s != "" {
					return s
				}
			}
		}
	case []any:
		for _, e := range v {
			if s := words(e); s != "" {
				return s
			}
		}
	}
	return ""
}

// tidy takes markup and runs of white space out of a text and bounds it.
func tidy(s string) string {
	s = html.UnescapeString(tag.ReplaceAllString(s, " "))
	s = strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "?")
	return clip(s, maxText)
}

// clip cuts a text at n bytes without breaking a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + " …"
}

var quotaText = regexp.MustCompile(`(?i)quota|over ?limit|limit exceeded|maximum (number of )?stacks`)

// hints say what to do about the failures that users meet most, first match first.
var hints = []struct {
	match *regexp.Regexp
	hint  string
}{
	{regexp.MustCompile(`(?i)template size`), "the template is larger than the VIM's Heat accepts (max_template_size)"},
	{quotaText, "raise the project's quota in the VIM or free resources, then retry the operation"},
	{
		regexp.MustCompile(`(?i)no valid host|not enough hosts|anti-affinity`),
		"no compute host can take the server: check free capacity, the size of the flavour, the zone, and whether there are enough hosts for the anti-affinity rules; then retry",
	},
	{
		regexp.MustCompile(`(?i)flavor.{0,120}(could not|cannot|can't) be found|flavor .{0,80}not found|no flavor`),
		"create the flavour in the VIM, or name another one in additionalParams.nfv",
	},
	{
		regexp.MustCompile(`(?i)image.{0,120}(could not|cannot|can't) be found|image .{0,80}not found|no images? (matching|found)|multiple image matches`),
		"upload the image to the VIM under the name that the VNFD has, or carry it in the package",
	},
	{
		regexp.MustCompile(`(?i)(network|subnet).{0,120}(could not|cannot|can't) be found|unable to find (network|subnet)|error validating value.{0,80}network`),
		"check the network ids of extVirtualLinks and the network names in the package's templates",
	},
	{
		regexp.MustCompile(`(?i)port .{0,80}(still )?in use|port is in use`),
		"the port belongs to another server: detach it, or let the VIM make a new one",
	},
	{
		regexp.MustCompile(`(?i)ip address.{0,120}(in use|already allocated)|address.{0,80}already (in use|allocated)|ipaddressinuse|ipaddressalreadyallocated`),
		"another port has this address: free it, or give another fixed address in extVirtualLinks",
	},
	{
		regexp.MustCompile(`(?i)no more ip addresses|ipaddressgenerationfailure|externalipaddressexhausted`),
		"the subnet has no free address: free some or extend its pool, then retry",
	},
	{
		regexp.MustCompile(`(?i)(availability zone|availability_zone).{0,120}(not|invalid)`),
		"the zone does not exist in the VIM: correct the grant's zones",
	},
	{
		regexp.MustCompile(`(?i)timed out|timeout`),
		"the VIM took longer than the stack's timeout: look at its services, raise openstack.stack_timeout if it is slow, then retry",
	},
}

// hint says what to do about a failure that a service describes with these words; "" when nothing is known.
func hint(text string) string {
	for _, h := range hints {
		if h.match.MatchString(text) {
			return h.hint
		}
	}
	return ""
}
