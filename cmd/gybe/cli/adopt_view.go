package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
)

// showAdoption shows a plan. Refusals are an error.
func (a *app) showAdoption(p *gybeapi.AdoptionPlan) error {
	if err := a.show(p, func(w io.Writer) { a.adoptionTable(w, p) }); err != nil {
		return err
	}
	if len(p.Refusals) == 0 {
		return nil
	}
	return &codeError{ExitConflict, &reportedError{fmt.Errorf("%s cannot be adopted", p.Instance.ID)}}
}

// adoptionTable shows a plan to a person.
func (a *app) adoptionTable(w io.Writer, p *gybeapi.AdoptionPlan) {
	levels := make([]string, 0, len(p.Instance.Levels))
	for _, aspect := range slices.Sorted(maps.Keys(p.Instance.Levels)) {
		levels = append(levels, aspect+" "+strconv.Itoa(p.Instance.Levels[aspect]))
	}
	stack := ""
	if p.Stack.ID != "" {
		stack = strings.TrimSpace(p.Stack.Name + " " + p.Stack.ID + " " + p.Stack.Status)
	}
	cluster := ""
	if p.Cluster != nil {
		cluster = fmt.Sprintf(
			"%s, %s, %d nodes, access %s", p.Cluster.Name, p.Cluster.Endpoint, p.Cluster.Nodes, p.Cluster.Access,
		)
	}
	fields(w, a.paint,
		"instance", strings.TrimSpace(p.Instance.Name+" "+p.Instance.ID),
		"package", strings.TrimSpace(p.Package.ProductName+" "+p.Package.ID),
		"vnfd", p.Instance.VnfdID, "flavour", p.Instance.FlavourID, "scale levels", strings.Join(levels, ", "),
		"stack", stack, "links", strconv.Itoa(p.Links), "volumes", strconv.Itoa(p.Storages), "cluster", cluster,
	)
	t := table{head: []string{"VNFC", "VDU", "SERVER", "STATE", "STATUS"}}
	for _, v := range p.Vnfcs {
		t.add(v.ID, v.VduID, v.ServerID, v.State, v.Status)
	}
	if len(t.rows) > 0 {
		printline(w)
		t.write(w, a.paint)
	}
	changes := table{head: []string{"NEXT OPERATION", "TYPE", "NAME", "DETAIL"}}
	for _, part := range []struct {
		action    string
		resources []gybeapi.PlannedResource
	}{
		{"adds", p.Update.Add},
		{"removes", p.Update.Remove},
		{"replaces", p.Update.Replace},
		{"changes", p.Update.Change},
	} {
		for _, r := range part.resources {
			changes.add(part.action, r.Type, r.Name, oneLine(r.Detail))
		}
	}
	if len(changes.rows) > 0 {
		printline(w)
		changes.write(w, a.paint)
	}
	for _, text := range p.Warnings {
		printline(w, "warning: "+oneLine(text))
	}
	for _, r := range p.Refusals {
		printline(w, "refused: "+oneLine(r.Detail))
		if r.Hint != "" {
			printline(w, "  hint: "+oneLine(r.Hint))
		}
	}
	printline(w)
	printline(w, adoptionVerdict(p))
}

func adoptionVerdict(p *gybeapi.AdoptionPlan) string {
	switch {
	case p.AlreadyAdopted:
		return "The instance has been adopted already."
	case len(p.Refusals) > 0:
		return "The instance cannot be adopted. Nothing was changed."
	}
	return "The instance can be adopted. Nothing was changed."
}
