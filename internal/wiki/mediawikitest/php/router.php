<?php
// PHP's server asks this script about every request.

$path = parse_url( $_SERVER['REQUEST_URI'], PHP_URL_PATH );
if ( $path === '/control' ) {
	require __DIR__ . '/control.php';
	return true;
}
if ( $path === '/api.php' ) {
	file_put_contents( __DIR__ . '/calls', $_SERVER['QUERY_STRING'] . "\n", FILE_APPEND | LOCK_EX );
}
return false; // the server looks for a file
