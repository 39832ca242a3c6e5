package lifecycle

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// types are the notifications that there are.
var types = []sol.NotificationType{lcm.KindOperation, lcm.KindCreation, lcm.KindDeletion}

// pointers are the places of attributes in a request to subscribe.
var pointers = map[string]string{
	notify.AttrType: "/filter/notificationTypes", notify.AttrOperation: "/filter/operationTypes",
	notify.AttrState:    "/filter/operationStates",
	notify.AttrInstance: "/filter/vnfInstanceSubscriptionFilter/vnfInstanceIds",
	notify.AttrName:     "/filter/vnfInstanceSubscriptionFilter/vnfInstanceNames",
	notify.AttrVnfd:     "/filter/vnfInstanceSubscriptionFilter/vnfdIds",
	notify.AttrProduct:  "/filter/vnfInstanceSubscriptionFilter/vnfProductsFromProviders",
}

// parse makes conditions of a LifecycleChangeNotificationsFilter. An empty list restricts nothing.
//
// Operation types and states restrict notifications of operations. Those of identifiers have none: they are selected if
// the filter names their type, or neither types nor anything about operations.
func parse(raw json.RawMessage) (notify.Filter, error) {
	var f sol.LifecycleChangeNotificationsFilter
	if raw != nil {
		if err := json.Unmarshal(raw, &f); err != nil {
			return nil, lcm.Errorf(lcm.CodeUnprocessable, "the filter cannot be read: %w", err)
		}
	}
	if err := check(&f); err != nil {
		return nil, err
	}
	about := map[string][]string{}
	if i := f.VnfInstanceSubscriptionFilter; i != nil {
		add(about, notify.AttrInstance, i.VnfInstanceIds)
		add(about, notify.AttrName, i.VnfInstanceNames)
		add(about, notify.AttrVnfd, i.VnfdIds)
		add(about, notify.AttrProduct, notify.Products(i.VnfProductsFromProviders))
	}
	ofOperations := len(f.OperationTypes)+len(f.OperationStates) > 0
	var out notify.Filter
	for _, t := range types {
		switch {
		case len(f.NotificationTypes) > 0 && !slices.Contains(f.NotificationTypes, t):
			continue
		case len(f.NotificationTypes) == 0 && ofOperations && t != lcm.KindOperation:
			continue
		}
		c := notify.Clause{notify.AttrType: {string(t)}}
		maps.Copy(c, about)
		if t == lcm.KindOperation {
			add(c, notify.AttrOperation, texts(f.OperationTypes))
			add(c, notify.AttrState, texts(f.OperationStates))
		}
		out = append(out, c)
	}
	return out, nil
}

// check reports the members that are wrong.
func check(f *sol.LifecycleChangeNotificationsFilter) error {
	e := lcm.Errorf(lcm.CodeUnprocessable, "the filter contradicts itself")
	if len(f.NotificationTypes) > 0 && !slices.Contains(f.NotificationTypes, lcm.KindOperation) {
		for name, given := range map[string]int{
			notify.AttrOperation: len(f.OperationTypes), notify.AttrState: len(f.OperationStates),
		} {
			if given > 0 {
				e.Params = append(e.Params, lcm.InvalidParam{
					Pointer: pointers[name], Detail: "only notifications of operations have it, and " +
						"notificationTypes does not name " + lcm.KindOperation,
				})
			}
		}
	}
	if len(e.Params) == 0 {
		return nil
	}
	slices.SortFunc(e.Params, func(a, b lcm.InvalidParam) int {
		if a.Pointer < b.Pointer {
			return -1
		}
		return 1
	})
	e.Detail = e.Params[0].Pointer + ": " + e.Params[0].Detail
	return e
}

// add adds an attribute that has values, each once.
func add(to map[string][]string, name string, values []string) {
	if len(values) > 0 {
		values = slices.Clone(values)
		slices.Sort(values)
		to[name] = slices.Compact(values)
	}
}

func texts[T ~string](in []T) []string {
	out := make([]string, len(in))
	for n, v := range in {
		out[n] = string(v)
	}
	return out
}
