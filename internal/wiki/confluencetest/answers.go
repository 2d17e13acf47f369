package confluencetest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

type object = map[string]any

// asKey is the key of the user whom AnotherUser answers for.
type asKey struct{}

// answer answers as Confluence does.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	user, ok := s.caller(r)
	w.Header().Set("Set-Cookie", s.sessionCookie()+"=0123456789ABCDEF0123456789ABCDEF; Path=/; HttpOnly")
	if !s.cloud && !s.unmarked {
		w.Header().Set("X-AUSERNAME", url.QueryEscape(cmp.Or(user.Name, "anonymous")))
	}
	if !ok {
		w.Header().Set("X-Seraph-LoginReason", "AUTHENTICATED_FAILED")
		page(w, http.StatusUnauthorized, "Basic Authentication Failure - Reason : AUTHENTICATED_FAILED")
		return
	}
	path := strings.TrimPrefix(r.URL.Path, Base)
	pages, isCloud := strings.CutPrefix(path, "/api/v2/pages")
	content, isDataCenter := strings.CutPrefix(path, "/rest/api/content")
	switch {
	case user.Name == "" && s.private:
		s.refuse(w, http.StatusForbidden)
	case path == "/rest/api/user/current":
		answerJSON(w, http.StatusOK, s.currentUser(user))
	case isCloud && s.cloud:
		s.content(w, r, user, strings.TrimPrefix(pages, "/"))
	case isDataCenter && !s.cloud:
		s.content(w, r, user, strings.TrimPrefix(content, "/"))
	default:
		s.refuse(w, http.StatusNotFound)
	}
}

// caller returns the user of a request; the zero User is anonymous. It returns false
// for a wrong password. A wrong token, and everything wrong in Cloud, is anonymous.
func (s *Server) caller(r *http.Request) (User, bool) {
	if name, ok := r.Context().Value(asKey{}).(string); ok {
		return s.users[name], true
	}
	if cookie, err := r.Cookie(s.sessionCookie()); err == nil {
		return s.users[s.cookies[cookie.Value]], true
	}
	name, password, isBasic := r.BasicAuth()
	token, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	for _, u := range s.users {
		switch {
		case isBearer && !s.cloud && token == u.Token && token != "",
			isBasic && s.cloud && name == u.Email && password == u.Token,
			isBasic && !s.cloud && strings.EqualFold(name, u.Name) && password == u.Password:
			return u, true
		}
	}
	return User{}, !isBasic || s.cloud
}

func (s *Server) currentUser(u User) object {
	picture := object{"path": Base + "/images/icons/profilepics/default.svg", "width": 48, "height": 48, "isDefault": true}
	switch {
	case u.Name == "":
		return object{"type": "anonymous", "profilePicture": picture, "displayName": "Anonymous", "_links": object{}}
	case !s.cloud:
		return object{"type": "known", "username": u.Name, "userKey": "8a7f808a" + u.Name, "profilePicture": picture, "displayName": u.Name}
	}
	user := object{"type": "known", "accountId": u.Name, "accountType": "atlassian", "email": u.Email, "publicName": u.Name, "displayName": u.Name}
	if u.Hidden {
		user["email"] = ""
	}
	return user
}

// content answers about one page, what a user may do with it, or all pages.
func (s *Server) content(w http.ResponseWriter, r *http.Request, user User, rest string) {
	if rest == "" {
		s.list(w, r, user)
		return
	}
	rest, operations := strings.CutSuffix(rest, "/operations")
	id, _ := strconv.ParseInt(rest, 10, 64)
	p, found := s.pages[id]
	view, edit := p.rights(user)
	switch {
	case !found || !view || s.cloud && p.Type != "page":
		s.refuse(w, http.StatusNotFound)
	case operations && s.cloud:
		answerJSON(w, http.StatusOK, object{"operations": p.operations(edit)})
	case operations:
		s.refuse(w, http.StatusNotFound)
	default:
		answerJSON(w, http.StatusOK, s.contentOf(p, r.URL.Query(), edit))
	}
}

func (p Page) rights(u User) (view, edit bool) {
	includes := func(list []string) bool {
		return slices.ContainsFunc(list, func(name string) bool {
			group, isGroup := strings.CutPrefix(name, "@")
			return isGroup && slices.Contains(u.Groups, group) || u.Name != "" && name == u.Name
		})
	}
	view = p.View == nil || includes(p.View) || includes(p.Edit)
	return view, view && (p.Edit == nil || includes(p.Edit))
}

// operations lists others, too, whose names are alike.
func (p Page) operations(edit bool) []object {
	list := []object{{"operation": "read", "targetType": p.Type}, {"operation": "create", "targetType": "comment"}, {"operation": "update", "targetType": "comment"}}
	if edit {
		list = append(list, object{"operation": "update", "targetType": p.Type}, object{"operation": "delete", "targetType": p.Type})
	}
	return list
}

func (s *Server) contentOf(p Page, query url.Values, edit bool) object {
	expand := strings.Split(query.Get("expand"), ",")
	o := object{
		"id": strconv.FormatInt(p.ID, 10), "status": p.Status, "title": p.Title,
		"_links": object{"webui": fmt.Sprintf("/spaces/TEAM/pages/%d", p.ID), "tinyui": "/x/AgAB"},
	}
	version := object{"number": p.Version, "minorEdit": false, "message": ""}
	body := object{"storage": object{"value": p.Text, "representation": "storage"}}
	if s.cloud {
		o["spaceId"], o["authorId"], o["version"] = "98306", "557058:1", version
		if query.Get("body-format") == "storage" {
			o["body"] = body
		}
		return o
	}
	o["type"], o["_expandable"] = p.Type, object{"metadata": "", "history": fmt.Sprintf("/rest/api/content/%d/history", p.ID)}
	if slices.Contains(expand, "version") {
		o["version"] = version
	}
	if slices.Contains(expand, "operations") {
		o["operations"] = p.operations(edit)
	}
	if slices.Contains(expand, "body.storage") {
		o["body"] = body
	}
	return o
}

// list answers with a part of all pages.
func (s *Server) list(w http.ResponseWriter, r *http.Request, user User) {
	query := r.URL.Query()
	position := "start"
	if s.cloud {
		position = "cursor"
	}
	start, _ := strconv.Atoi(strings.TrimPrefix(query.Get(position), "page-"))
	limit, _ := strconv.Atoi(query.Get("limit"))
	limit = min(max(limit, 1), s.batch)
	ids := slices.Sorted(maps.Keys(s.pages))
	results := []object{}
	for _, id := range ids[min(start, len(ids)):min(start+limit, len(ids))] {
		p := s.pages[id]
		if view, edit := p.rights(user); view && (p.Type == "page" || !s.cloud && query.Get("type") == "") && p.Status == query.Get("status") {
			results = append(results, s.contentOf(p, query, edit))
		}
	}
	links := object{"base": "http://" + s.host + Base}
	if start+limit < len(ids) {
		query.Set(position, strconv.Itoa(start+limit))
		if s.cloud {
			query.Set(position, "page-"+query.Get(position))
		}
		links["next"] = strings.TrimPrefix(r.URL.Path, Base) + "?" + query.Encode()
	}
	answerJSON(w, http.StatusOK, object{"results": results, "start": start, "limit": limit, "size": len(results), "_links": links})
}

// refuse answers with an error in JSON.
func (s *Server) refuse(w http.ResponseWriter, status int) {
	if s.cloud {
		answerJSON(w, status, object{"errors": []object{{"status": status, "code": strings.ToUpper(http.StatusText(status)), "title": http.StatusText(status), "detail": nil}}})
		return
	}
	answerJSON(w, status, object{
		"statusCode": status, "data": object{"authorized": false, "valid": true, "errors": []object{}, "successful": false},
		"message": "No content found with id: ContentId{id=1}", "reason": http.StatusText(status),
	})
}

func answerJSON(w http.ResponseWriter, status int, o object) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(o)
}

// page answers in HTML.
func page(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/html;charset=utf-8")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<!doctype html><html><head><title>HTTP Status %d</title></head><body><p>%s</p></body></html>", status, text)
}

func as(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, asKey{}, name)
}
