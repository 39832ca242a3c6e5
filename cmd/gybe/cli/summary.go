package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// summary is a plan in few lines: what happens to machines and volumes, and which data are lost.
type summary struct {
	operation sol.LcmOperationType
	// member is the word for a VNFC's resource: machine or pod.
	member string
	// servers and volumes, by their names.
	deleted, recreated, rebuilt []string
	lostVolumes                 []string
	added, others               int
	keptVNFCs, vnfcs            int
	keptStorages, storages      int
	work, failed                []string
}

// summarize makes the summary of a plan for an instance.
func summarize(p *gybeapi.Preview, i *sol.VnfInstance) summary {
	s := summary{operation: p.Operation, member: member(i)}
	gone, lost := map[string]bool{}, map[string]bool{}
	for _, r := range p.Remove {
		s.count(r, &s.deleted, gone, lost)
	}
	for _, r := range p.Replace {
		s.count(r, &s.recreated, gone, lost)
	}
	for _, r := range p.Change {
		if r.LosesData {
			s.rebuilt = append(s.rebuilt, r.Name)
		}
	}
	s.added = len(slices.DeleteFunc(slices.Clone(p.Add), func(r gybeapi.PlannedResource) bool { return !isMachine(r) }))
	if info := i.InstantiatedVnfInfo; info != nil {
		for _, c := range info.VnfcInfo {
			s.vnfcs++
			if !gone[c.ID] {
				s.keptVNFCs++
			}
		}
		for _, v := range info.VirtualStorageResourceInfo {
			s.storages++
			if !lost[v.StorageResource.ResourceID] {
				s.keptStorages++
			}
		}
	}
	for _, w := range p.Work {
		s.work = append(s.work, oneLine(w.Detail))
	}
	for _, c := range p.Checks {
		if c.State == gybeapi.CheckFailed {
			s.failed = append(s.failed, c.Subject+": "+oneLine(c.Detail))
		}
	}
	return s
}

// count adds a resource that does not survive.
func (s *summary) count(r gybeapi.PlannedResource, servers *[]string, gone, lost map[string]bool) {
	switch {
	case isMachine(r):
		*servers = append(*servers, r.Name)
		gone[r.VNFC] = true
	case r.LosesData:
		s.lostVolumes = append(s.lostVolumes, r.Name)
		lost[r.ID] = true
	default:
		s.others++
	}
}

// member is the word for the resources of an instance's VNFCs.
func member(i *sol.VnfInstance) string {
	for _, v := range i.VimConnectionInfo {
		if strings.Contains(v.VimType, "KUBERNETES") || strings.Contains(v.VimType, "HELM") {
			return "pod"
		}
	}
	return "machine"
}

// isMachine says whether a resource is a machine or a container.
func isMachine(r gybeapi.PlannedResource) bool {
	return r.Kind == gybeapi.ResourceCompute || r.Kind == gybeapi.ResourceContainer
}

// destroys says whether machines or volumes do not survive.
func (s *summary) destroys() bool {
	return len(s.deleted)+len(s.recreated)+len(s.rebuilt)+len(s.lostVolumes) > 0
}

func (s *summary) write(w io.Writer) {
	pairs := []string{
		"deleted", counted(s.deleted, s.member),
		"recreated", counted(s.recreated, s.member),
		"rebuilt", counted(s.rebuilt, s.member),
		"added", plural(s.added, s.member),
		"kept", fmt.Sprintf("%d of %s", s.keptVNFCs, plural(s.vnfcs, s.member)),
	}
	if s.storages > 0 {
		pairs[len(pairs)-1] += fmt.Sprintf(", %d of %s", s.keptStorages, plural(s.storages, "volume"))
	}
	var data []string
	if n := len(s.deleted) + len(s.recreated) + len(s.rebuilt); n > 0 {
		data = append(data, "the disks of "+plural(n, s.member))
	}
	if len(s.lostVolumes) > 0 {
		data = append(data, counted(s.lostVolumes, "volume"))
	}
	pairs = append(pairs, "data lost", strings.Join(data, ", "), "other resources", plural(s.others, "resource"))
	printf(w, "%s, as planned now:\n", s.operation)
	fields(w, func(text string) string { return text }, pairs...)
	for _, l := range s.work {
		printline(w, "  "+l)
	}
	for _, l := range s.failed {
		printline(w, "  check failed: "+l)
	}
}

// counted is the number of things and their names; "" for none.
func counted(names []string, what string) string {
	const most = 8
	if len(names) == 0 {
		return ""
	}
	list := strings.Join(names[:min(most, len(names))], ", ")
	if len(names) > most {
		list += ", …"
	}
	return plural(len(names), what) + " (" + list + ")"
}

// plural is a number of things; "" for none.
func plural(n int, what string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
