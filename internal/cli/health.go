package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v3"
)

// healthTimeout is a little longer than the server itself waits for its
// readiness check.
const healthTimeout = 3 * time.Second

func healthCommand(streams Streams) *cli.Command {
	return &cli.Command{
		Name:      "health",
		Usage:     "ask a server whether it is ready",
		ArgsUsage: "[URL]",
		Description: `The exit status is 0 if the server answers that it is ready, and 1 if not: for the health check of a
container. Without a URL it asks the server on this machine, at the address of $FORMULARY_LISTEN or at 127.0.0.1:8080.`,
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if cmd.Args().Len() > 1 {
				return usagef("health takes one URL")
			}
			target, err := healthURL(cmd.Args().First(), os.Getenv("FORMULARY_LISTEN"))
			if err != nil {
				return err
			}
			if err := askHealth(ctx, target); err != nil {
				return fmt.Errorf("%s is not ready: %w", target.Host, err)
			}
			_, err = fmt.Fprintln(streams.Out, "ready")
			return err
		},
	}
}

// healthURL is where /readyz is. listen is the address that the server beside
// this command was told to listen on.
func healthURL(arg, listen string) (*url.URL, error) {
	if arg == "" {
		return &url.URL{Scheme: "http", Host: localAddress(listen), Path: "/readyz"}, nil
	}
	u, err := url.Parse(arg)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, usagef("use a URL such as http://127.0.0.1:8080")
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/") + "/readyz"}, nil
}

// localAddress is listen with "every interface" replaced by loopback.
func localAddress(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "127.0.0.1:8080"
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

func askHealth(ctx context.Context, target *url.URL) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	//nolint:gosec // the operator chooses what to ask
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req) //nolint:gosec // see above
	if err != nil {
		return errors.Unwrap(err) // without the URL, which may hold a password
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", resp.Status)
	}
	return nil
}
