package cli

import (
	"context"
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
)

// deliveryPage is how many deliveries are read at once.
const deliveryPage = 500

func (a *app) subscriptionDeliveries() *cobra.Command {
	var state string
	var limit int
	cmd := a.onSubscription(
		&cobra.Command{
			Use: "deliveries SUBSCRIPTION", Short: "Show what has become of the notifications to a subscriber",
			Long: `Show the notifications to a subscriber in their order: PENDING ones are sent until the subscriber accepts
them, DEAD ones are not sent any more.`,
		},
		func(ctx context.Context, c *client.Client, id string, _ []string) error {
			if limit < 0 {
				return usagef("--limit is %d; it is 0 or more", limit)
			}
			found, err := deliveries(ctx, c, id, strings.ToUpper(state), limit)
			if err != nil {
				return err
			}
			return a.show(found, func(w io.Writer) {
				t := table{head: []string{
					"NOTIFICATION", "ABOUT", "RESOURCE", "STATE", "CREATED", "ATTEMPTS", "NEXT ATTEMPT", "ERROR",
				}}
				for _, d := range found {
					t.add(d.NotificationID, aboutNotification(d), d.ResourceID, d.State, timeText(&d.Created),
						strconv.Itoa(d.Attempts), timeText(d.NextAttempt), d.LastError)
				}
				t.write(w, a.paint)
			})
		})
	cmd.Flags().StringVar(&state, "state", "", "only those that are pending, delivered or dead")
	cmd.Flags().IntVar(&limit, "limit", 0, "show at most so many; 0 shows all")
	// the flag exists
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(
		[]string{"PENDING", "DELIVERED", "DEAD"}, cobra.ShellCompDirectiveNoFileComp,
	))
	return cmd
}

// aboutNotification is the operation with its state, or the type of a notification about something else.
func aboutNotification(d gybeapi.Delivery) string {
	if d.Operation != "" {
		return d.Operation + " " + d.OperationState
	}
	return strings.TrimSuffix(d.NotificationType, "Notification")
}

// deliveries reads pages until limit is reached; 0 is no limit.
func deliveries(ctx context.Context, c *client.Client, id, state string, limit int) ([]gybeapi.Delivery, error) {
	out := []gybeapi.Delivery{}
	q := url.Values{}
	if state != "" {
		q.Set("state", state)
	}
	for {
		size := deliveryPage
		if limit > 0 {
			size = min(size, limit-len(out))
		}
		q.Set("limit", strconv.Itoa(size))
		page, err := c.Deliveries(ctx, id, q)
		if err != nil {
			return nil, err
		}
		out = append(out, page.Deliveries...)
		if page.Next == "" || limit > 0 && len(out) >= limit {
			return out, nil
		}
		q.Set("after", page.Next)
	}
}

func (a *app) subscriptionReplay() *cobra.Command {
	var since, until string
	var dead bool
	cmd := a.onSubscription(
		&cobra.Command{
			Use: "replay SUBSCRIPTION [NOTIFICATION]", Short: "Send notifications again",
			Long: `Send notifications again: the one with an id, or those of a time range. They keep their ids.
Without --dead, notifications that were delivered are sent again, too.`,
			Example: `  gybe subscription replay 8d3f --dead --since 24h
  gybe subscription replay 8d3f 0d6e3c55-3a0b-4a3c-9d3b-6f0a4f4c6a1b`,
			Args: cobra.RangeArgs(1, 2),
		},
		func(ctx context.Context, c *client.Client, id string, more []string) error {
			r := gybeapi.Replay{}
			if dead {
				r.State = "DEAD"
			}
			from, err := timeFlag("--since", since)
			if err != nil {
				return err
			}
			to, err := timeFlag("--until", until)
			if err != nil {
				return err
			}
			if !from.IsZero() {
				r.Since = &from
			}
			if !to.IsZero() {
				r.Until = &to
			}
			if len(more) > 0 {
				r.NotificationID = more[0]
			}
			if (r.NotificationID == "") == (r.Since == nil && r.Until == nil) {
				return usagef("name either a notification, or a time range with --since and --until")
			}
			n, err := c.Replay(ctx, id, r)
			if err != nil {
				return err
			}
			return a.show(gybeapi.Replayed{Replayed: n}, func(w io.Writer) {
				if n == 1 {
					printline(w, "1 notification is sent again")
					return
				}
				printf(w, "%d notifications are sent again\n", n)
			})
		})
	flags := cmd.Flags()
	flags.StringVar(&since, "since", "", "from this time on: 2026-01-31T12:00:00Z, or as long ago as 90m")
	flags.StringVar(&until, "until", "", "up to this time, in the same form")
	flags.BoolVar(&dead, "dead", false, "only dead letters")
	return cmd
}
