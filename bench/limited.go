package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// startLimited begins clients that send to one form with a limit. Once it is full, they are refused.
func startLimited(ctx context.Context, server *process) (finish func() error, err error) {
	var clients sync.WaitGroup
	over, errs := make(chan struct{}), make([]error, manyConns)
	for i := range errs {
		clients.Go(func() {
			for errs[i] == nil {
				select {
				case <-over:
					return
				default:
					errs[i] = sendLimited(ctx, server)
				}
			}
		})
	}
	return func() error {
		close(over)
		clients.Wait()
		return errors.Join(errs...)
	}, nil
}

func sendLimited(ctx context.Context, server *process) error {
	body := strings.NewReader(`{"fields":{"name":{"fieldId":"name","value":"Ann"}}}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+server.addr+limitedPath, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", server.authorization)
	resp, err := plain.Do(req)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusCreated && resp.StatusCode != http.StatusConflict {
		err = errors.Join(err, fmt.Errorf("create with a limit: %s: %s", resp.Status, answer))
	}
	return errors.Join(err, resp.Body.Close())
}
