package cli

import (
	"context"
	"encoding/json"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

func (a *app) subscriptionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "subscription", Short: "Subscriptions to notifications, and their delivery",
		Long: "Subscriptions to notifications of VNF lifecycle management, and what has become of the notifications.",
	}
	cmd.AddCommand(
		a.subscriptionList(), a.subscriptionShow(), a.subscriptionCreate(), a.subscriptionDelete(),
		a.subscriptionDeliveries(), a.subscriptionReplay(),
	)
	return cmd
}

func subscriptionThings(c *client.Client) func(context.Context) ([]thing, error) {
	return func(ctx context.Context) ([]thing, error) {
		all, err := c.Subscribers(ctx)
		return things(all, func(s *gybeapi.Subscriber) thing {
			return thing{s.ID, "", s.State + " " + s.CallbackURI}
		}), err
	}
}

// onSubscription makes a command for the subscription that its first argument names.
func (a *app) onSubscription(
	cmd *cobra.Command, run func(ctx context.Context, c *client.Client, id string, more []string) error,
) *cobra.Command {
	if cmd.Args == nil {
		cmd.Args = cobra.ExactArgs(1)
	}
	cmd.ValidArgsFunction = a.complete(subscriptionThings)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		id, err := pick(cmd.Context(), "subscription", args[0], subscriptionThings(c))
		if err != nil {
			return err
		}
		return run(cmd.Context(), c, id, args[1:])
	}
	return cmd
}

func (a *app) subscriptionList() *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List subscriptions", RunE: func(cmd *cobra.Command, _ []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		all, err := c.Subscribers(cmd.Context())
		if err != nil {
			return err
		}
		return a.show(all, func(w io.Writer) {
			t := table{head: []string{"ID", "API", "CALLBACK", "STATE", "PENDING", "DEAD", "NEXT ATTEMPT"}}
			for _, s := range all {
				t.add(s.ID, s.API, s.CallbackURI, s.State, strconv.FormatInt(s.Pending, 10),
					strconv.FormatInt(s.Dead, 10), timeText(s.NextAttempt))
			}
			t.write(w, a.paint)
		})
	}}
}

// subscriptionState is a subscription with the state of its delivery.
type subscriptionState struct {
	gybeapi.Subscriber
	Verbosity sol.LcmOpOccNotificationVerbosityType   `json:"verbosity,omitempty"`
	Filter    *sol.LifecycleChangeNotificationsFilter `json:"filter,omitempty"`
}

func (a *app) subscriptionShow() *cobra.Command {
	return a.onSubscription(&cobra.Command{Use: "show SUBSCRIPTION", Short: "Show a subscription"},
		func(ctx context.Context, c *client.Client, id string, _ []string) error {
			status, err := c.Subscriber(ctx, id)
			if err != nil {
				return err
			}
			out := subscriptionState{Subscriber: *status}
			if status.API == "vnflcm" {
				s, err := c.Subscription(ctx, id)
				if err != nil {
					return err
				}
				out.Verbosity, out.Filter = s.Verbosity, s.Filter
			}
			return a.show(out, func(w io.Writer) {
				fields(w, a.paint, "id", out.ID, "api", out.API, "callback", out.CallbackURI, "verbosity",
					string(out.Verbosity), "filter", compact(out.Filter), "created", timeText(&out.Created),
					"state", out.State, "pending", strconv.FormatInt(out.Pending, 10),
					"dead", strconv.FormatInt(out.Dead, 10), "failing since", timeText(out.FailingSince),
					"next attempt", timeText(out.NextAttempt), "last error", out.LastError)
			})
		})
}

func (a *app) subscriptionCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "create CALLBACK | -f FILE", Short: "Subscribe to notifications", Args: cobra.MaximumNArgs(1),
		Long: `Subscribe to notifications of VNF lifecycle management, which are sent to the URL CALLBACK. It has to
answer GET with 204. A file has the whole request in JSON, also with authentication; the name - reads
standard input. Flags take precedence over the file.`,
		Example: `  gybe subscription create https://nfvo.example.org/lccn --state COMPLETED --state FAILED_TEMP
  gybe subscription create -f subscription.json`,
	}
	var file string
	var names, ids, vnfds, kinds, operations, states []string
	var short bool
	flags := cmd.Flags()
	flags.StringVarP(&file, "file", "f", "", "file with the request")
	flags.StringSliceVar(&names, "name", nil, "only VNF instances with this name")
	flags.StringSliceVar(&ids, "instance", nil, "only the VNF instance with this id")
	flags.StringSliceVar(&vnfds, "vnfd", nil, "only VNF instances with this vnfdId")
	flags.StringSliceVar(&kinds, "type", nil, "only notifications of this type")
	flags.StringSliceVar(&operations, "operation", nil, "only operations of this type, such as SCALE")
	flags.StringSliceVar(&states, "state", nil, "only operations in this state, such as COMPLETED")
	flags.BoolVar(&short, "short", false, "without the resources that an operation has changed")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var body sol.LccnSubscriptionRequest
		if file != "" {
			raw, err := a.readDocument(file)
			if err != nil {
				return err
			}
			if err := json.Unmarshal(raw, &body); err != nil {
				return failWith(ExitRejected, "%s is not a subscription: %s", documentName(file), wrongType(err))
			}
		}
		if len(args) > 0 {
			body.CallbackURI = args[0]
		}
		if body.CallbackURI == "" {
			return usagef("name the URL that notifications are sent to, or a file with the request")
		}
		if short {
			body.Verbosity = sol.VerbosityShort
		}
		f := body.Filter
		if f == nil {
			f = &sol.LifecycleChangeNotificationsFilter{}
		}
		about := f.VnfInstanceSubscriptionFilter
		if about == nil {
			about = &sol.VnfInstanceSubscriptionFilter{}
		}
		about.VnfInstanceNames = append(about.VnfInstanceNames, names...)
		about.VnfInstanceIds = append(about.VnfInstanceIds, ids...)
		about.VnfdIds = append(about.VnfdIds, vnfds...)
		if len(names)+len(ids)+len(vnfds) > 0 {
			f.VnfInstanceSubscriptionFilter = about
		}
		f.NotificationTypes = appendAs(f.NotificationTypes, kinds)
		f.OperationTypes = appendAs(f.OperationTypes, operations)
		f.OperationStates = appendAs(f.OperationStates, states)
		if len(names)+len(ids)+len(vnfds)+len(kinds)+len(operations)+len(states) > 0 {
			body.Filter = f
		}
		c, err := a.client()
		if err != nil {
			return err
		}
		made, err := c.Subscribe(cmd.Context(), body)
		if err != nil {
			return err
		}
		return a.show(made, func(w io.Writer) {
			fields(w, a.paint, "id", made.ID, "callback", made.CallbackURI, "verbosity", string(made.Verbosity),
				"filter", compact(made.Filter))
		})
	}
	return cmd
}

// appendAs appends texts as values of a named type.
func appendAs[T ~string](to []T, texts []string) []T {
	for _, t := range texts {
		to = append(to, T(t))
	}
	return to
}

func (a *app) subscriptionDelete() *cobra.Command {
	return a.onSubscription(
		&cobra.Command{
			Use: "delete SUBSCRIPTION", Short: "Delete a subscription",
			Long: "Delete a subscription. Notifications that are not delivered are not sent any more.",
		},
		func(ctx context.Context, c *client.Client, id string, _ []string) error {
			return c.DeleteSubscription(ctx, id)
		})
}

// timeText is a time in UTC; "" for none.
func timeText(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
